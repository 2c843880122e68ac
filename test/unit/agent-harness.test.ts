/** The harness of `throughline/testing`: its replicas behave as those of a cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../../src/core/agent.ts";
import { completed, inputRequired } from "../../src/core/events.ts";
import { stateOf } from "../../src/core/task.ts";
import { testAgent } from "../../src/testing/index.ts";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";

test(
  "a follow-up that one replica takes while another begins to serve has an owner that hears of the next one",
  { timeout: 10_000 },
  async () => {
    const agent: Agent = {
      card: { name: "asks", description: "Asks twice, and waits", version: "1" },
      async *run(turn) {
        yield inputRequired("first?");
        if ((await turn.next()) === undefined) return;
        yield inputRequired("second?");
        if ((await turn.next()) === undefined) return;
        yield completed("done");
      },
    };
    // What is not heard of by a hint is not heard of at all.
    await using harness = await testAgent(agent, { renewMs: 3_600_000, sweepMs: 3_600_000 });
    const handle = await harness.send("go");
    await handle.task();
    await harness.drain();
    const { storage } = harness;
    const meta = storage.meta.bind(storage);
    storage.meta = async (taskId) => {
      storage.meta = meta;
      // Nobody owns the task that could be taken over: all that comes of it is another replica.
      void assert.rejects(harness.takeOver(taskId), /nobody owns/);
      return meta(taskId);
    };
    assert.equal(stateOf(await (await handle.followUp("go on")).task()), TaskState.INPUT_REQUIRED);
    assert.equal(stateOf(await (await handle.followUp("one")).task()), TaskState.INPUT_REQUIRED);
    assert.equal(stateOf(await (await handle.followUp("two")).task()), TaskState.COMPLETED);
  },
);
