/** What a replica answers that is going away: all that asks for no work, and more where others share its store. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fileRedis } from "../../redis/file-redis.ts";
import { type Bed, brief, collect, errorOf, failureOf, nextFrame, openBed, send, startTask, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import type { Gate } from "../scenario-agent.ts";

/** Begins a drain that lasts until the gate lets its one stream end. */
async function beginDrain(bed: Bed): Promise<{ readonly gate: Gate; readonly drained: Promise<void> }> {
  const gate = bed.agent.gate();
  const stream = bed.grpc.stream("SendStreamingMessage", send(`slow ${gate.name}`));
  await gate.reached;
  const drained = bed.server.drain({ atOnce: true });
  void collect(stream);
  return { gate, drained };
}

const SLOWLY = { drainMs: 60_000, streamGraceMs: 60_000 };

suite("a replica that is going away", { timeout: 60_000 }, () => {
  test("reads, follows and cancels tasks on every binding while it lets its streams end", async () => {
    await using bed = await openBed(SLOWLY);
    const ids = await Promise.all(bed.callers.map((caller) => startTask(caller, "input")));
    const { gate, drained } = await beginDrain(bed);
    for (const [index, caller] of bed.callers.entries()) {
      const id = ids[index] as string;
      assert.equal(taskOf(await caller.unary("GetTask", { id })).id, id);
      assert.equal((await caller.unary("ListTasks")).message["totalSize"], ids.length + 1);
      const follower = caller.stream("SubscribeToTask", { id });
      assert.equal(brief(await nextFrame(follower)), "task INPUT_REQUIRED");
      assert.equal(stateOf((await caller.unary("CancelTask", { id })).message), "TASK_STATE_CANCELED");
      const { frames, end } = await collect(follower);
      assert.deepEqual([frames.map(brief), end], [["status CANCELED"], "clean"]);
      const more = send("complete", { message: { taskId: id } });
      checkFailure(caller, await failureOf(caller.unary("SendMessage", more)), "SERVER_DRAINING");
    }
    gate.open();
    await drained;
  });

  test("takes sends on every binding where another replica can work on them, and streams what that one does", async () => {
    const redis = await fileRedis();
    await using leaving = await openBed({ ...SLOWLY, redis, replica: "leaving" });
    await using staying = await openBed({ redis, replica: "staying" }, leaving.agent);
    const { gate, drained } = await beginDrain(leaving);
    for (const [index, caller] of leaving.callers.entries()) {
      const { frames, end } = await collect(caller.stream("SendStreamingMessage", send("complete")));
      assert.deepEqual([frames.map(brief).at(0), frames.map(brief).at(-1), end], ["task SUBMITTED", "status COMPLETED", "clean"]);
      const task = taskOf(await caller.unary("SendMessage", send("input")));
      assert.equal(stateOf(task), "TASK_STATE_INPUT_REQUIRED");
      const more = send("complete", { message: { taskId: task.id } });
      assert.equal(stateOf(taskOf(await caller.unary("SendMessage", more))), "TASK_STATE_COMPLETED");
      const read = await (staying.callers[index] ?? caller).unary("GetTask", { id: task.id });
      assert.equal(stateOf(read.message), "TASK_STATE_COMPLETED");
    }
    gate.open();
    await drained;
  });

  test("R-252 R-253 ends the waits of cancels that it cannot see through so that their callers ask again", async () => {
    await using bed = await openBed({ drainMs: 200, cancelGraceMs: 60_000 });
    const waits = [];
    for (const caller of bed.callers) {
      const gate = bed.agent.gate();
      const id = await startTask(caller, `deaf ${gate.name}`);
      const turn = await gate.reached;
      const aborted = new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
      const failed = errorOf(caller.unary("CancelTask", { id }));
      await aborted;
      waits.push({ caller, id, gate, failed });
    }
    const drained = bed.server.drain({ atOnce: true });
    for (const { caller, id, failed } of waits) {
      const { failure } = await failed;
      checkFailure(caller, failure, "SERVER_DRAINING");
      assert.deepEqual(failure.metadata, { taskId: id });
    }
    for (const { gate } of waits) gate.open();
    await drained;
  });
});
