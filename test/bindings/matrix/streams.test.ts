/** Where streams begin and end: what the tests of sends and subscriptions do not say of every end. */
import assert from "node:assert/strict";
import { suite } from "node:test";
import { brief, collect, everywhere, failureOf, nextFrame, type ScenarioBed, send, sharedBed, stateOf, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

/** A task that ended in each way there is. */
const ENDS: Readonly<Record<string, (caller: Caller) => Promise<string>>> = {
  COMPLETED: (caller) => ended(caller, "complete"),
  FAILED: (caller) => ended(caller, "throw"),
  REJECTED: (caller) => ended(caller, "reject"),
  CANCELED: async (caller) => {
    const id = await ended(caller, "input");
    await caller.unary("CancelTask", { id });
    return id;
  },
};

async function ended(caller: Caller, text: string): Promise<string> {
  return taskOf(await caller.unary("SendMessage", send(text))).id;
}

suite("a task that has ended", () => {
  const bed = sharedBed();

  for (const [state, end] of Object.entries(ENDS)) {
    everywhere(`R-012 R-034 R-067 R-073 can only be read: ${state}`, bed, async (caller) => {
      const id = await end(caller);
      const more = send("complete", { message: { taskId: id } });
      const calls = [
        caller.stream("SubscribeToTask", { id }),
        caller.stream("SendStreamingMessage", more),
        caller.unary("SendMessage", more),
        caller.unary("SendMessage", { ...more, configuration: { returnImmediately: true } }),
      ];
      const failures = [];
      for (const failure of await Promise.all(calls.map(failureOf))) {
        assert.deepEqual(failure.metadata, { taskId: id });
        failures.push(checkFailure(caller, failure, "UNSUPPORTED_OPERATION"));
      }
      const canceled = await failureOf(caller.unary("CancelTask", { id }));
      assert.deepEqual(canceled.metadata, { taskId: id });
      failures.push(checkFailure(caller, canceled, "TASK_NOT_CANCELABLE"));
      const { message } = await caller.unary("GetTask", { id });
      assert.equal(stateOf(message), `TASK_STATE_${state}`);
      return [failures, message];
    });
  }
});

for (const mode of ["send", "all", "none"] as const) {
  suite(`closeOnInputRequired: ${mode}`, () => {
    const bed = sharedBed({ closeOnInputRequired: mode });

    everywhere(
      "R-180 R-181 no stream ends at AUTH_REQUIRED, nor does one that begins there",
      bed,
      async (caller, { agent }: ScenarioBed) => {
        const gate = agent.gate();
        const sender = caller.stream("SendStreamingMessage", send(`auth-then-on ${gate.name}`));
        const { task } = (await nextFrame(sender)) as { task: { id: string } };
        const early = caller.stream("SubscribeToTask", { id: task.id });
        await nextFrame(early);
        assert.equal(brief(await nextFrame(sender)), "status AUTH_REQUIRED");
        const late = caller.stream("SubscribeToTask", { id: task.id });
        assert.equal(brief(await nextFrame(late)), "task AUTH_REQUIRED");
        gate.open();
        const [sent, seen, last] = await Promise.all([sender, early, late].map(collect));
        for (const { frames, end } of [sent, last] as { frames: []; end: string }[]) {
          assert.deepEqual([frames.map(brief), end], [["status WORKING", "status COMPLETED"], "clean"]);
        }
        assert.deepEqual(seen?.frames.slice(-2), sent?.frames);
        return sent?.frames;
      },
    );
  });
}
