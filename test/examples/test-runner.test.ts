import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import defaultAgent from "../../examples/test-runner/agent.ts";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TurnAborted } from "../../src/core/agent.ts";
import { CallIn, isGone, messageOf, Reading, runIn, Sandbox, turnOf } from "./fixture.ts";

/** Writes the same bytes to the pipe (stdout and stderr in turn) and to a file, code points cut in two. */
const doubleWriter = `
import { appendFileSync, writeSync } from "node:fs";
const bytes = Buffer.from("\\uFEFFgrün ✔ 😀 \\u0000 naïve\\r\\n".repeat(4000));
for (let at = 0, i = 0; at < bytes.length; i++) {
  const piece = bytes.subarray(at, at + 1 + ((i * 37) % 1500));
  for (let sent = 0; sent < piece.length; ) sent += writeSync(i % 3 === 0 ? 2 : 1, piece, sent);
  appendFileSync("written", piece);
  at += piece.length;
}`;

suite("a run", { timeout: 60_000 }, () => {
  test("streams exactly what the command wrote, stdout and stderr in their order", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project("node writer.mjs", { "writer.mjs": doubleWriter });
    const { log, chunks, order, statuses } = await Reading.of(runIn(directory, "run the tests"));
    assert.equal(log, readFileSync(join(directory, "written"), "utf8"));
    assert.ok(chunks.length > 2);
    assert.deepEqual(
      chunks.map(({ append, last }) => [append, last]),
      chunks.map((_, i) => [i > 0, i === chunks.length - 1]),
    );
    assert.deepEqual([order[0], order.at(-2), order.at(-1)], ["WORKING", "summary", "COMPLETED"]);
    assert.equal(statuses[0]?.text, "running fixture: node writer.mjs");
  });

  test("has a log, and an end of it, also when nothing was written", async () => {
    using sandbox = new Sandbox();
    const { chunks, final } = await Reading.of(runIn(sandbox.project("true"), ""));
    assert.deepEqual(chunks, [{ text: "", append: false, last: true }]);
    assert.equal(final?.state, TaskState.COMPLETED);
  });

  test("fails by the exit code, with the counts and names of its tests", async () => {
    using sandbox = new Sandbox();
    const source = `import { describe, it } from "node:test";
      describe("sums", () => { it("adds", () => {}); it("carries", () => { throw new Error("no"); }); it.skip("later", () => {}); });`;
    const directory = sandbox.project("node --test --test-reporter=spec", { "sums.test.mjs": source });
    const { final, summary } = await Reading.of(runIn(directory, { project: "fixture" }));
    assert.equal(final?.state, TaskState.FAILED);
    assert.match(final.text, /^1 failed, 1 passed, 1 skipped in \d+\.\d s \(exit code 1\)$/);
    const { durationMs, ...counts } = summary ?? {};
    assert.ok(typeof durationMs === "number" && durationMs > 0);
    assert.deepEqual(counts, { project: "fixture", tests: 3, passed: 1, failed: 1, skipped: 1, exitCode: 1, failures: ["sums > carries"] });
  });

  test("says how a command ended that counts nothing", async () => {
    using sandbox = new Sandbox();
    const { final, summary } = await Reading.of(runIn(sandbox.project("echo wrong; exit 3"), ""));
    assert.match(final?.text ?? "", /^exit code 3 in /);
    assert.equal(summary?.["exitCode"], 3);
    assert.ok(!("tests" in summary));
    const killed = await Reading.of(runIn(sandbox.project("kill -KILL $$"), ""));
    assert.equal(killed.final?.state, TaskState.FAILED);
    assert.equal(killed.summary?.["signal"], "SIGKILL");
  });

  test("says so when the project has no test command", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project("");
    assert.match((await Reading.of(runIn(directory, ""))).final?.text ?? "", /no test script/);
    sandbox.write({ "package.json": "{" });
    assert.match((await Reading.of(runIn(directory, ""))).final?.text ?? "", /no JSON/);
    assert.match((await Reading.of(runIn(join(directory, "gone"), ""))).final?.text ?? "", /no package.json/);
  });

  test("of payments-api passes its 96 tests, chunk by chunk", async () => {
    const message = messageOf("run the tests of payments-api");
    const { chunks, log, order, statuses, final, summary } = await Reading.of(defaultAgent.run(turnOf(message)));
    assert.equal(final?.state, TaskState.COMPLETED, log);
    assert.match(final.text, /^96 passed, 0 failed in \d+\.\d s$/);
    assert.equal(summary?.["tests"], 96);
    assert.match(log, /^ℹ pass 96$/m);
    assert.ok(chunks.length >= 20, `${chunks.length} chunks`);
    assert.deepEqual(order.slice(0, 3), ["WORKING", "log", "log"]);
    assert.ok(statuses.some(({ text }) => /^\d+ tests passed so far$/.test(text)));
  });
});

suite("a request", () => {
  test("for a project that is not allowed is rejected with those that are", async () => {
    const { order, statuses } = await Reading.of(defaultAgent.run(turnOf(messageOf("run the tests of ../../etc"))));
    assert.deepEqual(order, ["REJECTED"]);
    assert.match(statuses[0]?.text ?? "", /allowed: payments-api/i);
  });
});

const family = (calls: CallIn, more = ""): Record<string, string> => ({
  "parent.mjs": calls.script("parent", `${more}\nspawn(process.execPath, ["grandchild.mjs"], { stdio: "ignore" });`),
  "grandchild.mjs": calls.script("grandchild", more),
});

suite("the end of a run", { timeout: 60_000 }, () => {
  test("by a cancel takes the whole tree, and leaves no verdict", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const directory = sandbox.project("echo begun; node parent.mjs; echo never", family(calls));
    const canceling = new AbortController();
    const reading = Reading.of(runIn(directory, "", canceling.signal));
    const tree = await Promise.all([calls.caller("parent"), calls.caller("grandchild")]);
    canceling.abort(new TurnAborted("canceled"));
    const { order, log } = await reading;
    assert.deepEqual(
      tree.map(({ pid }) => isGone(pid)),
      [true, true],
    );
    await Promise.all(tree.map(({ gone }) => gone));
    assert.ok(order.every((event) => event === "WORKING" || event === "log"));
    assert.ok(!log.includes("never"));
  });

  test("comes by SIGKILL where SIGTERM is not heard", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const directory = sandbox.project("node parent.mjs", family(calls, 'process.on("SIGTERM", () => {});'));
    const canceling = new AbortController();
    const reading = Reading.of(runIn(directory, "", canceling.signal, { killAfterMs: 100 }));
    const tree = await Promise.all([calls.caller("parent"), calls.caller("grandchild")]);
    canceling.abort(new TurnAborted("canceled"));
    await reading;
    assert.ok(tree.every(({ pid }) => isGone(pid)));
  });

  test("comes when the reader leaves, with output still unread", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const flood = 'setInterval(() => process.stdout.write("x".repeat(50_000)), 1);';
    const directory = sandbox.project("node parent.mjs", { "parent.mjs": calls.script("parent", flood) });
    for await (const event of runIn(directory, "")) {
      if (event.case !== "artifactUpdate") continue;
      await calls.caller("parent");
      break;
    }
    const { pid, gone } = await calls.caller("parent");
    assert.ok(isGone(pid));
    await gone;
  });

  test("takes along what the command left running in the background", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const script = `node left.mjs & while [ ! -e ready ]; do :; done; echo done`;
    const left = calls.script("left", 'import { writeFileSync } from "node:fs"; writeFileSync("ready", "");');
    const { log, final } = await Reading.of(runIn(sandbox.project(script, { "left.mjs": left }), ""));
    assert.equal(log, "done\n");
    assert.equal(final?.state, TaskState.COMPLETED);
    await (
      await calls.caller("left")
    ).gone;
  });

  test("does not wait for a process that left the group and kept the pipe", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const starter = `import { spawn } from "node:child_process";
      spawn(process.execPath, ["daemon.mjs"], { stdio: "inherit", detached: true }).unref();`;
    const directory = sandbox.project("node starter.mjs; echo done", { "starter.mjs": starter, "daemon.mjs": calls.script("daemon") });
    const { log, final } = await Reading.of(runIn(directory, ""));
    assert.equal(log, "done\n");
    assert.equal(final?.state, TaskState.COMPLETED);
    const daemon = await calls.caller("daemon");
    process.kill(daemon.pid, "SIGKILL");
    await daemon.gone;
  });

  test("comes before it began when the turn is aborted already", async () => {
    using sandbox = new Sandbox();
    const directory = sandbox.project("touch began");
    await Reading.of(runIn(directory, "", AbortSignal.abort(new TurnAborted("draining"))));
    assert.deepEqual(readdirSync(directory), ["package.json"]);
  });
});

/** A project with two commits, and a temporary directory that shows what a checkout leaves behind. */
function history(sandbox: Sandbox, script = "cat state"): { directory: string; old: string } {
  const temporary = join(sandbox.path, "tmp");
  mkdirSync(temporary);
  process.env["TMPDIR"] = temporary;
  const directory = sandbox.project(script, { state: "old\n" });
  const old = sandbox.commit();
  sandbox.write({ state: "new\n", "node_modules/dep/state": "installed\n", ".gitignore": "node_modules\n" });
  sandbox.commit();
  sandbox.write({ state: "not committed\n" });
  return { directory, old };
}

const leftovers = (sandbox: Sandbox): string[] => readdirSync(join(sandbox.path, "tmp"));

suite("a commit", { timeout: 60_000 }, () => {
  test("is tested as it was, beside the project and with its dependencies", async () => {
    using sandbox = new Sandbox();
    const { directory, old } = history(sandbox, "cat state node_modules/dep/state");
    const { log, summary, statuses } = await Reading.of(runIn(directory, `run the tests of fixture at ${old.slice(0, 7)}`));
    assert.equal(log, "old\ninstalled\n");
    assert.equal(summary?.["commit"], old);
    assert.match(statuses[1]?.text ?? "", /^running fixture at [0-9a-f]{7}: cat/);
    assert.equal(readFileSync(join(directory, "state"), "utf8"), "not committed\n");
    assert.deepEqual(leftovers(sandbox), []);
    const status = execFileSync("git", ["status", "--porcelain"], { cwd: directory, encoding: "utf8" });
    assert.equal(status, " M state\n");
  });

  test("may be a name, of which the latest is taken", async () => {
    using sandbox = new Sandbox();
    const { directory } = history(sandbox);
    assert.equal((await Reading.of(runIn(directory, { project: "fixture", commit: "HEAD" }))).log, "new\n");
    assert.equal((await Reading.of(runIn(directory, ""))).log, "not committed\n");
  });

  test("that is not there fails the task", async () => {
    using sandbox = new Sandbox();
    const { directory } = history(sandbox);
    const { final, chunks } = await Reading.of(runIn(directory, "run the tests at 1234567"));
    assert.deepEqual(final, { state: TaskState.FAILED, text: "fixture: there is no commit 1234567" });
    assert.deepEqual(chunks, []);
    assert.deepEqual(leftovers(sandbox), []);
  });

  test("leaves no files behind when the run is canceled", async () => {
    using sandbox = new Sandbox();
    const { directory } = history(sandbox, "echo begun; sleep 60");
    const canceling = new AbortController();
    for await (const event of runIn(directory, { commit: "HEAD" }, canceling.signal)) {
      if (event.case !== "artifactUpdate") continue;
      assert.equal(leftovers(sandbox).length, 1);
      canceling.abort(new TurnAborted("canceled"));
    }
    assert.deepEqual(leftovers(sandbox), []);
  });

  test("of a project in no repository fails the task", async () => {
    using sandbox = new Sandbox();
    const { final } = await Reading.of(runIn(sandbox.project("true"), "run the tests at main"));
    assert.equal(final?.text, "fixture: the project is in no git repository");
  });
});
