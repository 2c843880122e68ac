/** The list worker: whatever cuts it off, each item has its result once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Artifact, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import agent, { listWorker } from "../../examples/list-worker/agent.ts";
import { type AgentHarness, testAgent } from "../../src/testing/index.ts";
import { aborted, Gate, saidBy, shownLog, stateName } from "../worker/bed.ts";

const LIST = "a\nb\n\n  c  \nd";

/** An agent that stops in the middle of the third item of its first run, and what was done. */
function stopping(): { agent: ReturnType<typeof listWorker>; done: string[]; stopped: Gate } {
  const done: string[] = [];
  const stopped = new Gate();
  let stop = true;
  const work = async (item: string, signal: AbortSignal): Promise<string> => {
    done.push(item);
    if (item === "c" && stop) {
      stop = false;
      stopped.open();
      await new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
    }
    return item.toUpperCase();
  };
  return { agent: listWorker({ work }), done, stopped };
}

const CUTS: Readonly<Record<string, (harness: AgentHarness, taskId: string) => Promise<void>>> = {
  "a crash": (harness, taskId) => harness.takeOver(taskId),
  "a drain": (harness) => harness.drain(),
};

for (const [what, cut] of Object.entries(CUTS)) {
  test(`after ${what} the list goes on where its log ends: the item in hand is done again, no result stands twice`, async () => {
    const { agent: worker, done, stopped } = stopping();
    await using harness = await testAgent(worker);
    const handle = await harness.send(LIST);
    await stopped.opened;
    // Results that are not stored yet would be worked out again, too.
    for await (const { payload } of handle.events)
      if (payload.case === "artifactUpdate" && textsOf(payload.value.artifact)[0] === "B\n") break;
    await cut(harness, handle.taskId);
    const task = await handle.task();
    assert.equal(stateName(task), "COMPLETED");
    assert.equal(saidBy(task), "4 items done");
    assert.deepEqual(results(task), ["A\n", "B\n", "C\n", "D\n"]);
    assert.deepEqual(done, ["a", "b", "c", "c", "d"]);
    const log = shownLog(await harness.log(handle.taskId));
    assert.equal(log.filter((line) => line.includes("going on with item 3 of 4")).length, 1, log.join("\n"));
  });
}

test("a run that was cut off after its last result only says so", async () => {
  const { agent: worker } = stopping();
  const last = new Gate();
  await using harness = await testAgent({
    ...worker,
    async *run(turn) {
      for await (const event of worker.run(turn)) {
        // The end of the first run never gets into the log.
        if (event.case === "statusUpdate" && event.value.status?.state === TaskState.COMPLETED && turn.attempt === 1) {
          last.open();
          await aborted(turn.signal);
        }
        yield event;
      }
    },
  });
  const handle = await harness.send("a\nb");
  await last.opened;
  await harness.takeOver(handle.taskId);
  const task = await handle.task();
  assert.equal(stateName(task), "COMPLETED");
  assert.deepEqual(results(task), ["A\n", "B\n"]);
});

test("an empty message is asked about, and the answer is the list", async () => {
  const { agent: worker } = stopping();
  await using harness = await testAgent(worker);
  const handle = await harness.send(" ");
  assert.equal(stateName(await handle.task()), "INPUT_REQUIRED");
  const task = await (await handle.followUp("x\ny")).task();
  assert.deepEqual(results(task), ["X\n", "Y\n"]);
});

test("the served one answers digests", async () => {
  await using harness = await testAgent(agent);
  const task = await (await harness.send("apples")).task();
  assert.deepEqual(results(task), ["f5903f51e341a783e69ffc2d9b335048716f5f040a782a2764cd4e728b0f74d9  apples\n"]);
});

function results(task: Task): string[] {
  return textsOf(task.artifacts.find(({ artifactId }) => artifactId === "results"));
}

function textsOf(artifact: Artifact | undefined): string[] {
  return (artifact?.parts ?? []).map(({ content }) => (content.case === "text" ? content.value : ""));
}
