import assert from "node:assert/strict";
import { test } from "node:test";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import { Fold } from "../../src/core/fold.ts";
import { Entry } from "../../src/core/log-entry.ts";
import { checkPromises, type FollowerRecord, type SeenFrame, type TaskRecord, testAgent } from "../../src/testing/index.ts";
import { agentOf, text } from "../worker/bed.ts";

/** A run that kept its promises. */
async function goodRun(): Promise<{ task: TaskRecord; wire: SeenFrame[] }> {
  const agent = agentOf(async function* (turn) {
    yield text("a", "1");
    yield working("half");
    yield inputRequired("more?");
    await turn.next();
    yield text("a", "2", true);
    yield completed("done");
  });
  await using harness = await testAgent(agent, { closeOnInputRequired: "none" });
  const handle = await harness.send({ messageId: "m1", parts: [{ content: { case: "text", value: "go" } }] });
  await handle.task();
  await handle.followUp({ messageId: "m2", parts: [{ content: { case: "text", value: "more" } }] });
  const wire: SeenFrame[] = [];
  for await (const response of handle.events) wire.push({ response });
  const [entries, task] = [await harness.log(handle.taskId), await harness.read(handle.taskId)];
  return { task: { taskId: handle.taskId, entries, task, custody: "nobody", given: new Set(["m1", "m2"]) }, wire };
}

const numbers = (broken: readonly string[]): string[] => broken.map((what) => what.replace(/^.*?: /, "").slice(0, 1));

test("a run that kept its promises is found so, with positions and without", async () => {
  const { task, wire } = await goodRun();
  const events = task.entries.filter(({ kind }) => kind === "event");
  const positioned = events.map((entry) => ({ response: entry.event, position: { offset: entry.offset, mark: entry.mark } }));
  const followers: FollowerRecord[] = [
    { taskId: task.taskId, frames: wire, ended: true },
    { taskId: task.taskId, frames: wire.slice(0, 3), ended: false },
    { taskId: task.taskId, frames: positioned, ended: true },
    { taskId: task.taskId, frames: positioned.slice(2), ended: true },
    { taskId: task.taskId, frames: [], ended: false },
  ];
  assert.deepEqual(checkPromises([task], followers), []);
});

test("what a reader missed, saw twice, out of order, too early or not to the end is found", async () => {
  const { task, wire } = await goodRun();
  const { taskId } = task;
  const swapped = wire.with(2, wire[3] as SeenFrame).with(3, wire[2] as SeenFrame);
  const foreign = (await goodRun()).wire;
  const faults: [string, SeenFrame[], boolean][] = [
    ["missed", wire.toSpliced(3, 1), false],
    ["twice", wire.toSpliced(3, 0, wire[3] as SeenFrame), false],
    ["swapped", swapped, false],
    ["foreign", [...wire.slice(0, 3), ...foreign.slice(3)], false],
    ["more than was stored", [...wire, wire.at(-1) as SeenFrame], false],
    ["ended too soon", wire.slice(0, 3), true],
  ];
  for (const [what, frames, ended] of faults) assert.equal(checkPromises([task], [{ taskId, frames, ended }]).length, 1, what);
  assert.deepEqual(numbers(checkPromises([], [{ taskId, frames: wire, ended: true }])), ["f"]);
});

test("a broken log, a wrong task and a forgotten message are found", async () => {
  const { task } = await goodRun();
  const { entries } = task;
  const last = entries.at(-1) as Entry;
  const again = (entry: Entry, place: Partial<Entry>): Entry =>
    new Entry({ offset: entry.offset, epoch: entry.epoch, time: 0, ...place }, entry);
  const check = (changed: Partial<TaskRecord>): string[] => numbers(checkPromises([{ ...task, ...changed }], []));
  assert.deepEqual(check({ entries: entries.toSpliced(3, 1) }).slice(0, 1), ["1"]);
  assert.deepEqual(check({ entries: entries.with(3, again(entries[3] as Entry, { epoch: 0 })) }), ["3"]);
  assert.deepEqual(check({ entries: [...entries, again(last, { offset: last.offset + 1 })] }), ["4"]);
  assert.deepEqual(check({ task: { ...task.task, artifacts: [] } }), ["5"]);
  assert.deepEqual(check({ custody: "owned" }), ["6"]);
  const half = entries.slice(0, 4);
  const fold = new Fold(1000);
  for (const entry of half) fold.add(entry);
  const unfinished = { entries: half, task: fold.task };
  assert.deepEqual(check({ ...unfinished, custody: "nobody" }), ["6"]);
  assert.deepEqual(check({ ...unfinished, custody: "owned", given: new Set() }), []);
  const resting = entries.slice(0, 6);
  for (const entry of resting) fold.add(entry);
  assert.deepEqual(check({ entries: resting, task: fold.task }), []);
  assert.deepEqual(check({ entries: resting, task: fold.task, given: new Set() }), ["6"]);
});
