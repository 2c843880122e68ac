/** What the documents say of the command line, against what it does. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { QUICK, ROOT, startServer } from "../e2e/server-process.ts";
import { blocksOf, chapterOf, document, sectionOf, shapeOf } from "../readme/markdown.ts";
import { session } from "../readme/session.ts";

const page = document("docs/clients.md");

/** On a busy machine the agent may take longer than usual to say something: the transcript shows the usual. */
const STEADY = { THROUGHLINE_WORKING_AFTER_MS: "60000" };

/** The program by its name in a folder of the PATH; disposing removes it. */
class Installed implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "throughline-bin-"));
  /** Lines that let a shell find it. */
  readonly prelude: string;

  constructor() {
    const link = join(this.#folder, "throughline");
    symlinkSync(join(ROOT, "src/cli/main.ts"), link);
    this.prelude = `PATH="$PATH:${this.#folder}"\nthroughline() { node '${link}' "$@"; }\n`;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

suite("docs/clients.md", { timeout: 120_000 }, () => {
  test("has the exit codes as they are", () => {
    const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |\n`);
    assert.equal(sectionOf(page, "exit codes"), `| exit code | |\n| --- | --- |\n${rows.join("")}`);
  });

  test("shows what the commands print", async () => {
    await using server = await startServer(["examples/list-worker/agent.ts"], { ...QUICK, ...STEADY });
    const blocks = blocksOf(chapterOf(page, "The command line"));
    // As if it were installed.
    using installed = new Installed();
    const prelude = `exec 2>&1\nexport THROUGHLINE_AGENT=http://127.0.0.1:${server.ports.http}\n${installed.prelude}`;
    const scripts = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
    const shown = blocks.filter(({ language }) => language === "text").map(({ text }) => text);
    assert.ok(scripts.length > 0 && scripts.length === shown.length);
    const printed = await session([`${prelude}${scripts[0]}`, ...scripts.slice(1)]);
    for (const [index, transcript] of shown.entries()) assert.match(printed[index] ?? "", shapeOf(transcript));
  });
});
