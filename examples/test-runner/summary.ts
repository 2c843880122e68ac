/** Reads the output of a test run as it comes: progress on the way, the counts at the end. */
import { stripVTControlCharacters } from "node:util";

/** What a test command says about its tests. */
export interface Counts {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A longer line is no summary. */
const maxLineLength = 4_096;
const maxFailures = 200;

type Field = "tests" | "passed" | "failed" | "skipped";

/** The words of node:test, jest, vitest, mocha and pytest. */
const words: Readonly<Record<string, Field>> = {
  tests: "tests",
  total: "tests",
  pass: "passed",
  passed: "passed",
  passing: "passed",
  xpassed: "passed",
  fail: "failed",
  failed: "failed",
  failing: "failed",
  cancelled: "failed",
  error: "failed",
  errors: "failed",
  skipped: "skipped",
  pending: "skipped",
  todo: "skipped",
  xfailed: "skipped",
};

/** node:test, spec and TAP: "ℹ pass 96", "# pass 96". One line per count. */
const nodeLine = /^(?:ℹ|#) (tests|pass|fail|cancelled|skipped|todo) (\d+)$/;
/** One line with all counts: jest, vitest, pytest; mocha has one per count. */
const countLines = [
  /^Tests: +(\d.*\btotal)$/,
  /^ *Tests +(\d.*\))$/,
  /^=+ (\d.*) in [\d.]+s.* =+$/,
  /^ +(\d+ (?:passing|failing|pending))\b/,
];
const specOpen = /^( *)▶ (.+)$/;
const specResult = /^( *)([✔✖﹣]) (.+?)(?: \([\d.]+ms\))?(?: # .*)?$/u;
const tapResult = /^( *)(ok|not ok) \d+(?: - (.*?))?( # (?:SKIP|TODO).*)?$/i;
/** jest, vitest, pytest. */
const failureLines = [/^ {2}● (?!Console|Test suite failed)(.+)$/, /^ *FAIL +(.+ > .+)$/, /^FAILED (\S+)/];

export class SummaryReader {
  /** Tests passed and failed so far, as far as the output tells (node:test and TAP). */
  passed = 0;
  failed = 0;
  /** Grows with every finished suite or test that is in no suite. */
  finished = 0;
  readonly #failures = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #open: { indent: number; name: string }[] = [];
  #pendingTap: { ok: boolean; name: string; skipped: boolean; top: boolean } | undefined;
  #repeating = false;
  #rest = "";

  /** The next piece of the output, cut anywhere. */
  write(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, maxLineLength);
    for (const line of lines) if (line.length < maxLineLength) this.#line(stripVTControlCharacters(line).trimEnd());
  }

  /** The output is whole now. */
  end(): void {
    this.write("\n");
    this.#closeTap();
  }

  /** What the command's own summary said, or undefined where it has none that is known here. */
  get counts(): Counts | undefined {
    if (this.#counts.size === 0) return undefined;
    const sums = { tests: 0, passed: 0, failed: 0, skipped: 0 };
    for (const [word, count] of this.#counts) sums[words[word] ?? "tests"] += count;
    return { ...sums, tests: sums.tests || sums.passed + sums.failed + sums.skipped };
  }

  /** Names of the failed tests, with their suites where the output shows them; the first 200. */
  get failures(): string[] {
    return [...this.#failures];
  }

  #line(line: string): void {
    const node = nodeLine.exec(line);
    if (node) {
      this.#counts.set(node[1] ?? "", Number(node[2]));
      return;
    }
    for (const pattern of countLines) {
      const found = pattern.exec(line)?.[1];
      if (found !== undefined) this.#readCounts(found);
    }
    for (const pattern of failureLines) {
      const found = pattern.exec(line)?.[1];
      if (found !== undefined) this.#addFailure(found);
    }
    this.#specLine(line);
    this.#tapLine(line);
  }

  /** "1 failed, 2 skipped, 93 passed, 96 total" or "1 failed | 95 passed (96)". */
  #readCounts(text: string): void {
    for (const [, count, word = ""] of text.matchAll(/(\d+) ([a-z]+)/g)) {
      if (Object.hasOwn(words, word)) this.#counts.set(word, Number(count));
    }
  }

  #specLine(line: string): void {
    if (line === "✖ failing tests:") this.#repeating = true; // what follows was told before
    if (this.#repeating) return;
    const opened = specOpen.exec(line);
    if (opened) {
      this.#open.push({ indent: opened[1]?.length ?? 0, name: opened[2] ?? "" });
      return;
    }
    const [, spaces = "", mark, name = ""] = specResult.exec(line) ?? [];
    if (mark === undefined) return;
    if (spaces === "") this.finished += 1;
    const last = this.#open.at(-1);
    if (last?.indent === spaces.length && last.name === name) {
      this.#open.pop(); // the end of a suite is no test
    } else if (mark === "✔") {
      this.passed += 1;
    } else if (mark === "✖") {
      this.failed += 1;
      this.#addFailure([...this.#open.map((suite) => suite.name), name].join(" > "));
    }
  }

  #tapLine(line: string): void {
    if (this.#pendingTap && /^ +type: 'suite'$/.test(line)) {
      if (this.#pendingTap.top) this.finished += 1;
      this.#pendingTap = undefined;
      return;
    }
    const [, spaces = "", result, name, skipped] = tapResult.exec(line) ?? [];
    if (result === undefined) return;
    this.#closeTap();
    this.#pendingTap = { ok: result.toLowerCase() === "ok", name: name ?? "", skipped: skipped !== undefined, top: spaces === "" };
  }

  /** A TAP result counts once it is known to be no suite: the block after it says so. */
  #closeTap(): void {
    const pending = this.#pendingTap;
    this.#pendingTap = undefined;
    if (!pending) return;
    if (pending.top) this.finished += 1;
    if (pending.skipped) return;
    if (pending.ok) this.passed += 1;
    else {
      this.failed += 1;
      this.#addFailure(pending.name);
    }
  }

  #addFailure(name: string): void {
    if (this.#failures.size < maxFailures) this.#failures.add(name);
  }
}
