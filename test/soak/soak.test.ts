/** A short soak, and the rule by which it judges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CliProcess } from "../e2e/server-process.ts";
import type { Sample } from "./figures.ts";
import { courses, risen } from "./verdict.ts";

/** A figure that starts somewhere, sways, and grows by so much from one sample to the next. */
function course(name: string, start: number, sway: number, growth: number): Sample[] {
  return Array.from({ length: 30 }, (_, at) => ({ [name]: start + (at % 3) * sway + at * growth }));
}

test("a figure that sways is flat, one that grows is not", () => {
  for (const [name, start, sway] of [
    ["a heap MB", 60, 2],
    ["redis keys", 1000, 50],
    ["redis connections", 9, 0],
    ["a files", 60, 5],
  ] as const) {
    assert.deepEqual(risen(courses(course(name, start, sway, 0))), []);
    assert.equal(risen(courses(course(name, start, sway, start / 30))).length, 1, name);
  }
  assert.equal(risen(courses([{ "a heap MB": Number.NaN }])).length, 1, "what could not be measured is not flat");
});

test("a flag that is wrong is told with those that there are", async () => {
  for (const args of [
    ["--minute", "1"],
    ["--minutes", "none"],
  ]) {
    const run = new CliProcess(["test/soak/main.ts", ...args], {});
    assert.equal((await run.exited).code, 2);
    assert.match(run.stderr, /^[^\n]*--minutes?\b[^\n]*\nusage: [^\n]*--minutes 60[^\n]*\n$/);
  }
});

test(
  "under a mixed load memory, handles, connections and what Redis holds stay flat, and nothing is left",
  { timeout: 200_000 },
  async (t) => {
    const run = new CliProcess(["test/soak/main.ts", "--minutes", "0.28", "--callers", "12"], {});
    const { code } = await run.exited;
    for (const line of run.stdout.split("\n").filter((text) => /flat|RISES|left|done/.test(text))) t.diagnostic(line);
    assert.equal(code, 0, run.stdout + run.stderr);
  },
);
