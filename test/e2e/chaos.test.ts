/** Short chaos runs with fixed seeds, as `npm run chaos` runs them: several replicas on one Redis through faults of all kinds. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { CliProcess } from "./server-process.ts";

const LAST_LINE = "lost 0 doubled 0 reordered 0 forgotten 0";

/** What each run is asked for besides its seed. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  "the memory store, which several replicas of one process share": [
    "--store",
    "memory",
    "--seed",
    "1",
    "--minutes",
    "0.1",
    "--fault-every",
    "0.5",
  ],
  "one Redis": ["--store", "single", "--seed", "2", "--minutes", "0.4", "--fault-every", "1.5", "--replicas", "3"],
  "one Redis, with this project's client on ways that are cut": [
    "--clients",
    "ours",
    "--seed",
    "4",
    "--tasks",
    "60",
    "--cuts",
    "25",
    "--fault-every",
    "0.6",
    "--replicas",
    "3",
  ],
  "one Redis, another seed": ["--store", "single", "--seed", "3", "--minutes", "0.4", "--fault-every", "1.5", "--replicas", "3"],
  "one Redis, with webhooks": ["--webhooks", "--seed", "2", "--minutes", "0.4", "--fault-every", "1.5", "--replicas", "3"],
};

suite("a chaos run loses nothing, doubles nothing and forgets nothing", { timeout: 280_000 }, () => {
  for (const [what, args] of Object.entries(RUNS)) {
    test(`on ${what}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "throughline-chaos-test-"));
      const run = new CliProcess(["test/chaos/main.ts", ...args], { TMPDIR: folder });
      const { code } = await run.exited;
      const output = run.stdout + run.stderr;
      assert.equal(code, 0, output);
      assert.equal(run.stdout.trimEnd().split("\n").at(-1), LAST_LINE, output);
      assert.doesNotMatch(run.stdout, /^(tasks|events|faults|cuts|runs of clients|webhooks|notifications) 0\b/m);
      // Of a run that failed, what the replicas said is kept.
      rmSync(folder, { recursive: true });
    });
  }
});
