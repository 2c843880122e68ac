import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../../src/core/errors.ts";
import { Follower, type FollowOptions, type Frame } from "../../src/core/follow.ts";
import { START } from "../../src/core/log-entry.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import { MemoryStorage } from "../../src/storage/memory/memory-storage.ts";
import { chunk, Lab, type LabTask, status } from "../../src/testing/contract/lab.ts";

const HOUR = 3_600_000;
const bounds = { maxBytes: 1 << 28, interruptedRetentionMs: HOUR, leaseMs: HOUR, windowBytes: 1 << 20 };

async function lab(windowEntries = 1000): Promise<Lab> {
  let now = Date.now();
  const storage = new MemoryStorage({ ...bounds, windowEntries, retentionMs: 100, now: () => now });
  return Lab.open(async () => ({ storage, advance: (ms) => void (now += ms) }));
}

const shown = (frame: Frame): string => (frame.is === "event" ? `${frame.entry.offset}` : `task@${frame.snapshot.position.offset}`);

function follow(bed: Lab, task: LabTask, more: Partial<FollowOptions<string>> = {}): Follower<string> {
  const snapshots = new Snapshots(bed.storage, { cacheBytes: 1 << 20, historyLimit: 10 });
  const { signal } = new AbortController();
  return new Follower({ storage: bed.storage, snapshots, taskId: task.id, from: START, project: shown, signal, ...more });
}

async function all(follower: Follower<string>): Promise<string[]> {
  const seen: string[] = [];
  for await (const frame of follower) seen.push(frame);
  return seen;
}

const end = { state: TaskState.COMPLETED, consumed: 2 };

test("from a snapshot: the task, then every later event, to the terminal one; commands are not shown", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  const from = await new Snapshots(bed.storage, { cacheBytes: 1, historyLimit: 10 }).read(task.id);
  const reading = all(follow(bed, task, { from }));
  await task.append([chunk(), chunk()]);
  await task.command("message");
  await task.append([chunk(), status(TaskState.COMPLETED)], end);
  assert.deepEqual(await reading, ["task@2", "3", "4", "6", "7"]);
});

test("from a position: what comes after it and no snapshot; from the end of an ended task: nothing", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  const [first] = await task.append([chunk(), chunk()]);
  await task.append([status(TaskState.COMPLETED)], end);
  assert.ok(first !== undefined);
  assert.deepEqual(await all(follow(bed, task, { from: { offset: first.offset, mark: first.mark } })), ["4", "5"]);
  assert.deepEqual(await all(follow(bed, task, { from: task.position })), []);
});

test("a snapshot in a terminal state is shown, and is the end", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  await task.append([status(TaskState.COMPLETED)], end);
  const from = await new Snapshots(bed.storage, { cacheBytes: 1, historyLimit: 10 }).read(task.id);
  assert.deepEqual(await all(follow(bed, task, { from })), ["task@3"]);
});

test("C-35 where the position is gone, or of another history, a fresh snapshot comes in its place", async () => {
  await using bed = await lab(1);
  const task = await bed.owned();
  const slow = follow(bed, task);
  assert.equal((await slow.next()).value, "1");
  await task.append(Array.from({ length: 200 }, () => chunk()));
  const fold = await new Snapshots(bed.storage, { cacheBytes: 1, historyLimit: 10 }).fresh(task.id);
  await bed.storage.checkpoint(task.id, task.lease, fold.checkpoint(2));
  const strange = all(follow(bed, task, { from: { offset: 5, mark: "ffffffff" } }));
  await new Promise((resolve) => setImmediate(resolve));
  await task.append([status(TaskState.COMPLETED)], end);
  assert.deepEqual(await strange, ["task@202", "203"]);
  const rest = await all(slow);
  assert.ok(rest.includes("task@203") || rest.includes("203"));
});

test("an abort ends it quietly, once, and leaves nothing on the signal", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  const reader = new AbortController();
  let ends = 0;
  const follower = follow(bed, task, { from: task.position, signal: reader.signal, onEnd: () => (ends += 1) });
  const waiting = follower.next();
  reader.abort();
  assert.equal((await waiting).done, true);
  assert.equal((await follower.next()).done, true);
  await follower.return();
  assert.equal(ends, 1);
  assert.equal(getEventListeners(reader.signal, "abort").length, 0);
});

test("a failure ends it with the error, once, also while it waits", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  let ends = 0;
  const follower = follow(bed, task, { from: task.position, onEnd: () => (ends += 1) });
  const waiting = follower.next();
  follower.fail(new Error("drained"));
  follower.fail(new Error("again"));
  await assert.rejects(waiting, /drained/);
  assert.equal((await follower.next()).done, true);
  assert.equal(ends, 1);
});

test("a store that fails ends it too: nothing stays open", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  const { signal } = new AbortController();
  let ends = 0;
  const follower = follow(bed, task, { from: task.position, signal, onEnd: () => (ends += 1) });
  const other = await bed.owned();
  await other.append([status(TaskState.COMPLETED)], end);
  const late = follow(bed, other, { from: START, signal, onEnd: () => (ends += 1) });
  await bed.pass(200);
  await bed.storage.sweep();
  await assert.rejects(late.next(), (error) => error instanceof TaskError && error.reason === "TASK_NOT_FOUND");
  assert.equal((await late.next()).done, true);
  assert.equal(ends, 1);
  await follower.return();
  assert.equal(ends, 2);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});
