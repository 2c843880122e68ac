/** Short chaos runs with fixed seeds, as `npm run chaos` runs them: several replicas on one Redis through faults of all kinds. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CliProcess } from "../e2e/server-process.ts";

const LAST_LINE = "lost 0 doubled 0 reordered 0 forgotten 0";

/** Tests that a run with these arguments keeps every promise. Each has a file of its own, so that they share the machine. */
export function shortRun(what: string, args: string): void {
  test(`a chaos run on ${what} loses nothing, doubles nothing and forgets nothing`, { timeout: 280_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "throughline-chaos-test-"));
    const run = new CliProcess(["test/chaos/main.ts", ...args.split(" ")], { TMPDIR: folder });
    const { code } = await run.exited;
    const output = run.stdout + run.stderr;
    assert.equal(code, 0, output);
    assert.equal(run.stdout.trimEnd().split("\n").at(-1), LAST_LINE, output);
    assert.doesNotMatch(run.stdout, /^(tasks|events|faults|cuts|runs of clients|webhooks|notifications) 0\b/m);
    // Of a run that failed, what the replicas said is kept.
    rmSync(folder, { recursive: true });
  });
}
