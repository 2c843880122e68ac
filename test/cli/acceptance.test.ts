/** `throughline accept`: as a process, with its output and its exit codes. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { taskIdOf } from "./cli-bed.ts";
import { decisionsBed, recordIn } from "./decisions-bed.ts";

const DIGEST = `sha256:${createHash("sha256").update("forty-two").digest("hex")}`;

suite("accept", { concurrency: 2, timeout: 280_000 }, () => {
  const { bed, folder, run, deliver } = decisionsBed();

  test("accept judges by commands that read the artifact, and by what its user has judged", async () => {
    const id = await deliver("complete", "accepted");
    const words = [
      "--criterion",
      "it is a number",
      "--check",
      "grep -qx forty-two",
      "--check",
      "wc -c",
      "--judged",
      "it is the answer",
      "--by",
      "ada",
    ];
    const { code, stdout, stderr } = await run(["accept", id, ...words]);
    assert.deepEqual([code, stderr], [0, ""]);
    const [, record = ""] = /^record +(\S+)$/m.exec(stdout) ?? [];
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
    const lines = [
      `accepted v1  it is complete, and every criterion is met`,
      `work         answer`,
      `artifact     a`,
      `task         ${id}`,
      `context      accepted`,
      `content      ${DIGEST}, 9 bytes`,
      String.raw`passed       it is a number \(grep -qx forty-two\)`,
      String.raw`passed       it is a number \(wc -c\)`,
      String.raw`passed       it is the answer \(ada\)`,
      `observed     get-task: TASK_STATE_COMPLETED, ${time}`,
      `agent        scenarios, GRPC 1.0 127.0.0.1:${bed().server.ports.grpc}`,
      `by           ada, ${time}`,
      `record       ${record}`,
    ];
    assert.match(stdout, new RegExp(`^${lines.join("\n")}\n$`));
    const again = recordIn(await run(["accept", id, "--judged", "anything", "--json"]));
    assert.equal(again.id, record);
    assert.deepEqual(JSON.parse((await run(["records", record.slice(0, 13), "--json"])).stdout), again);
    assert.equal((await run(["records", record])).stdout, stdout);
  });

  test("accept ends with 1 where it is held, with 4 or 3 while the task is not over, and with 1 where it failed", async () => {
    const id = await deliver("complete");
    const held = await run(["accept", id, "--criterion", "it has a conclusion", "--check", "grep Conclusion || { echo none; exit 1; }"]);
    assert.equal(held.code, 1);
    assert.match(held.stdout, /^held +not met: it has a conclusion\n/);
    assert.match(held.stdout, /\nfailed +it has a conclusion \(grep Conclusion [^)]*\): none\n/);
    const open = await run(["accept", id, "--criterion", "it is true", "--judged", "it is short"]);
    assert.match(open.stdout, /^held +not checked: it is true\n/);
    assert.match(open.stdout, /\nunchecked +it is true\n/);
    const failed = await run(["accept", await deliver("fail"), "--judged", "fine"]);
    assert.deepEqual([failed.code, /^rejected +the task ended FAILED: that is no delivery\n/.test(failed.stdout)], [1, true]);
    const asked = await run(["accept", await deliver("input"), "--judged", "fine"]);
    assert.deepEqual([asked.code, /^provisional +the task is INPUT REQUIRED: /.test(asked.stdout)], [3, true]);
    const gate = bed().agent.gate();
    const [, running = ""] = /^task +(\S+)$/m.exec((await run(["send", "--detach", `slow ${gate.name}`])).stdout) ?? [];
    const early = await run(["accept", running, "--judged", "fine"]);
    assert.deepEqual([early.code, /^provisional +the task is /.test(early.stdout)], [4, true]);
    gate.open();
  });

  test("send --refine begins a task that replaces the accepted one when it is accepted", async () => {
    const first = await deliver("complete", "refined");
    const v1 = recordIn(await run(["accept", first, "--judged", "fine", "--json"]));
    const second = taskIdOf(await run(["send", "--refine", first, "complete"]));
    const v2 = recordIn(await run(["accept", second, "--judged", "fine", "--json"]));
    assert.deepEqual([v2.contextId, v2.referenceTaskIds, v2.predecessor, v2.version], ["refined", [first], v1.id, 2]);
    const other = await deliver("complete", "refined");
    const held = await run(["accept", other, "--judged", "fine"]);
    assert.match(held.stdout, new RegExp(`^held +answer v2 of task ${second} stands, which this task does not refine\n`));
    const v3 = recordIn(await run(["accept", other, "--judged", "fine", "--replaces", second, "--json"]));
    assert.deepEqual([v3.version, v3.predecessor], [3, v2.id]);
    const current = await run(["records", "--context", "refined", "--current", "--json"]);
    assert.deepEqual(JSON.parse(current.stdout), [v3]);
    const list = (await run(["records", "--context", "refined"])).stdout.split("\n");
    assert.match(list[0] ?? "", /^AT +DECISION +WORK +TASK +RECORD +REASON$/);
    assert.deepEqual(
      list.slice(1, 5).map((line) => line.split(/ {2,}/)[1]),
      ["accepted v1", "accepted v2", "held", "accepted v3"],
    );
    const wrong = await run(["send", "--refine", first, "--task", second, "x"]);
    assert.deepEqual([wrong.code, /--refine begins a task/.test(wrong.stderr)], [2, true]);
    const elsewhere = await run(["send", "--refine", first, "--context", "other", "x"]);
    assert.deepEqual([elsewhere.code, /--context: .* refined\n$/.test(elsewhere.stderr)], [2, true]);
  });

  test("what is wrong with the command line is told in a line and with 2", async () => {
    const wrong: readonly (readonly [args: string[], expected: RegExp])[] = [
      [["accept"], /missing required argument 'task'/],
      [["accept", "x"], /^throughline: --check or --judged: at least one is needed: what nobody has judged is not accepted\n$/],
      [["accept", "x", "--check", " "], /argument ' ' is invalid\. It must say something\./],
      [["accept", "x", "--judged", "fine", "--check-timeout", "0"], /It must be a number above 0\./],
      [["accept", "x", "--judged", "fine", "--by", " "], /^throughline: --by: it must say who decides\n$/],
      [["hold", "x"], /required option '--reason <text>' not specified/],
      [["reject", "x", "--reason", ""], /^throughline: --reason: it must say why\n$/],
    ];
    for (const [args, expected] of wrong) {
      const { code, stderr } = await run(args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, expected);
    }
  });

  test("Ctrl-C ends the checks, and nothing is recorded", async () => {
    const id = await deliver("complete");
    const records = join(folder, "left");
    const began = join(folder, "began");
    await using other = bed.start(["accept", id, "--check", `echo > ${began}; sleep 600`, "--records", records], {});
    while (!existsSync(began) && other.child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 10));
    other.signal("SIGINT");
    assert.deepEqual(await other.exited, { code: 4, signal: null });
    assert.equal(other.stderr, "left: nothing was recorded\n");
    assert.equal((await run(["records", "--records", records])).stderr, `no records: there is no ${records}\n`);
  });
});
