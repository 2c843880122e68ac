import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskError } from "../../../src/core/errors.ts";
import {
  type Bed,
  brief,
  collect,
  errorOf,
  everywhere,
  failureOf,
  nextFrame,
  openBed,
  type ScenarioBed,
  send,
  sharedBed,
  stateOf,
  taskOf,
} from "../bed.ts";
import { type Caller, type Stream, usesSse } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import type { Gate } from "../scenario-agent.ts";
import { HookedStorage } from "../hooked-storage.ts";

/** A stream of a task that works and waits at a gate: its first two frames are read. */
async function workingStream(caller: Caller, { agent }: ScenarioBed): Promise<{ stream: Stream; id: string; gate: Gate }> {
  const gate = agent.gate();
  const stream = caller.stream("SendStreamingMessage", send(`slow ${gate.name}`));
  const { task } = (await nextFrame(stream)) as { task: { id: string } };
  assert.equal(brief(await nextFrame(stream)), "status WORKING");
  return { stream, id: task.id, gate };
}

suite("a caller that leaves", () => {
  const bed = sharedBed();

  everywhere("R-086 SV-07 P-37 PR-01 in mid-stream ends its stream and not the task", bed, async (caller, own) => {
    const { stream, id, gate } = await workingStream(caller, own);
    const turn = await gate.reached;
    stream.leave();
    await collect(stream).catch(() => undefined);
    const other = caller.stream("SubscribeToTask", { id });
    assert.equal(brief(await nextFrame(other)), "task WORKING");
    assert.equal(turn.signal.aborted, false);
    gate.open();
    const { frames, end } = await collect(other);
    assert.deepEqual([frames.map(brief), end], [["status COMPLETED"], "clean"]);
    return frames;
  });

  everywhere("R-086 SV-18 P-37 while it waits ends its wait and not the task", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const contextId = crypto.randomUUID();
    const leaving = new AbortController();
    const wait = caller.unary("SendMessage", send(`slow ${gate.name}`, { message: { contextId } }), { signal: leaving.signal });
    const turn = await gate.reached;
    leaving.abort();
    await assert.rejects(wait);
    const { message } = await caller.unary("ListTasks", { contextId });
    const [task] = message["tasks"] as [{ id: string }];
    const stream = caller.stream("SubscribeToTask", { id: task.id });
    assert.equal(brief(await nextFrame(stream)), "task WORKING");
    assert.equal(turn.signal.aborted, false);
    gate.open();
    return (await collect(stream)).frames;
  });

  everywhere("during its cancel leaves the cancel standing", bed, async (caller, own) => {
    const { stream, id, gate } = await workingStream(caller, own);
    const turn = await gate.reached;
    const leaving = new AbortController();
    const aborted = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
    const cancel = caller.unary("CancelTask", { id }, { signal: leaving.signal }).catch(() => undefined);
    await aborted;
    leaving.abort();
    await cancel;
    return (await collect(stream)).frames;
  });
});

suite("a blocking send over gRPC", () => {
  const bed = sharedBed();

  test("sends the task's id ahead, as soon as the task exists", async () => {
    const { grpc, agent } = bed();
    const gate = agent.gate();
    const early = Promise.withResolvers<string | undefined>();
    const reply = grpc.unary("SendMessage", send(`slow ${gate.name}`), {
      onHeaders: (headers) => early.resolve(headers.get("a2a-task-id")),
    });
    const turn = await gate.reached;
    // The agent still waits: the reply cannot have come.
    assert.equal(await early.promise, turn.taskId);
    gate.open();
    await reply;
  });
});

suite("a drain", () => {
  test("ends streams at once so that a caller knows to come back; a wait whose task ends in time has its answer", async () => {
    await using bed = await openBed({ drainMs: 30_000 });
    const { open, drained } = await drainWithCalls(bed);
    for (const { caller, stream, id } of open) {
      const { frames, end } = await collect(stream);
      assert.deepEqual(frames, []);
      if (usesSse(caller) || end === "clean") assert.deepEqual([usesSse(caller), end], [true, "clean"]);
      else assert.deepEqual([end.code, end.reason, end.metadata], [14, "STREAM_DRAINED", { taskId: id }]);
    }
    for (const { gate, waits } of open) {
      gate.open();
      waits.open();
    }
    for (const { wait } of open) assert.equal(stateOf(taskOf(await wait)), "TASK_STATE_COMPLETED");
    await drained;
  });

  test("refuses a send that nobody would work on, where the store is this process's own", async () => {
    await using bed = await openBed({ drainMs: 30_000, streamGraceMs: 30_000 });
    const { gate, id } = await workingStream(bed.grpc, bed);
    const drained = bed.server.drain({ atOnce: true });
    for (const caller of bed.callers) {
      checkFailure(caller, await failureOf(caller.unary("SendMessage", send("done"))), "SERVER_DRAINING");
      checkFailure(caller, await failureOf(caller.stream("SendStreamingMessage", send("done"))), "SERVER_DRAINING");
      assert.equal(taskOf(await caller.unary("GetTask", { id })).id, id);
    }
    gate.open();
    await drained;
  });

  test("R-252 R-253 ends the waits that are left after drainMs so that a caller knows to come back", async () => {
    await using bed = await openBed({ drainMs: 200 });
    const { open, drained } = await drainWithCalls(bed);
    for (const { caller, wait, waits } of open) {
      const { failure, headers } = await errorOf(wait);
      checkFailure(caller, failure, "SERVER_DRAINING");
      if (caller.binding !== "grpc") assert.equal(headers.get("retry-after"), "1");
      assert.deepEqual(failure.metadata, { taskId: (await waits.reached).taskId });
    }
    await drained;
  });
});

/** On each binding a stream and a blocking send, both under way, and then a drain. */
async function drainWithCalls(bed: Bed) {
  const open = [];
  for (const caller of bed.callers) {
    const one = await workingStream(caller, bed);
    const gate = bed.agent.gate();
    const wait = caller.unary("SendMessage", send(`slow ${gate.name}`));
    wait.catch(() => undefined);
    await gate.reached;
    // A call of the same connection that was answered: the wait is under way.
    await caller.unary("GetTask", { id: one.id });
    open.push({ caller, ...one, wait, waits: gate });
  }
  return { open, drained: bed.server.drain({ atOnce: true }) };
}

suite("a store that goes away in mid-stream", () => {
  test("R-252 R-284 C-32 P-20 is told in the form of each binding, after the frames that were good", async () => {
    const storage = new HookedStorage();
    await using bed = await openBed({ storage });
    const open = [];
    for (const caller of bed.callers) open.push({ caller, ...(await workingStream(caller, bed)) });
    storage.breakTails(new TaskError("STORE_UNAVAILABLE", "the store is away", { retryAfterMs: 1000 }));
    for (const { caller, stream } of open) {
      const { frames, end } = await collect(stream);
      assert.deepEqual(frames, []);
      assert.notEqual(end, "clean");
      if (end !== "clean") checkFailure(caller, end, "STORE_UNAVAILABLE");
    }
    for (const { gate } of open) gate.open();
  });
});
