/** Deadlines, over the surfaces that have them: they end the caller's wait, never the task. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { brief, collect, failureOf, send, sharedBed, startTask, stateOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

/** Long enough for a turn to begin on a busy machine; the calls that wait for it run side by side. */
const DEADLINE_MS = 1500;

/** The header of a deadline. */
const HEADERS = {
  grpc: { "grpc-timeout": `${DEADLINE_MS}m` },
  connect: { "connect-timeout-ms": String(DEADLINE_MS) },
  "grpc-web": { "grpc-timeout": `${DEADLINE_MS}m` },
} as const satisfies Partial<Record<Caller["binding"], Readonly<Record<string, string>>>>;

suite("a deadline", { concurrency: true, timeout: 60_000 }, () => {
  const bed = sharedBed({ cancelGraceMs: 30_000 }, new ScenarioAgent());

  for (const [binding, headers] of Object.entries(HEADERS)) {
    const caller = (): Caller => bed().callers.find((one) => one.binding === binding) ?? assert.fail();

    test(`SV-18 ends a blocking wait and not the task; the caller has the task's id by then: ${binding}`, async () => {
      const gate = bed().agent.gate();
      const failure = await failureOf(caller().unary("SendMessage", send(`slow ${gate.name}`), { headers }));
      const turn = await gate.reached;
      checkFailure(caller(), failure, "DEADLINE_EXCEEDED");
      assert.deepEqual(failure.metadata, { taskId: turn.taskId });
      assert.equal(turn.signal.aborted, false);
      assert.equal(stateOf((await caller().unary("GetTask", { id: turn.taskId })).message), "TASK_STATE_WORKING");
      gate.open();
    });

    test(`R-086 ends a stream and not the task: ${binding}`, async () => {
      const gate = bed().agent.gate();
      const { frames, end } = await collect(caller().stream("SendStreamingMessage", send(`slow ${gate.name}`), { headers }));
      assert.deepEqual(frames.map(brief), ["task SUBMITTED", "status WORKING"]);
      if (end === "clean") assert.fail("the stream ended cleanly");
      checkFailure(caller(), end, "DEADLINE_EXCEEDED");
      assert.equal((await gate.reached).signal.aborted, false);
      gate.open();
    });

    test(`ends the wait of a cancel, which stands: ${binding}`, async () => {
      const gate = bed().agent.gate();
      const id = await startTask(caller(), `deaf ${gate.name}`);
      const turn = await gate.reached;
      const failure = await failureOf(caller().unary("CancelTask", { id }, { headers }));
      checkFailure(caller(), failure, "DEADLINE_EXCEEDED");
      assert.ok(turn.signal.aborted);
      gate.open();
    });

    test(`ends the asking of an agent that does not decide how to answer: ${binding}`, async () => {
      const contextId = crypto.randomUUID();
      const request = send("reply-never", { message: { contextId } });
      const calls = [caller().unary("SendMessage", request, { headers }), caller().stream("SendStreamingMessage", request, { headers })];
      for (const failure of await Promise.all(calls.map(failureOf))) checkFailure(caller(), failure, "DEADLINE_EXCEEDED");
      assert.equal((await caller().unary("ListTasks", { contextId })).message["totalSize"], undefined);
    });
  }
});
