/** Reads of tasks that this replica has not folded yet: few at once, and one for all who want the same task. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { taskNotFound } from "../../src/core/errors.ts";
import type { Position } from "../../src/core/log-entry.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import type { StoredCheckpoint, TailStep } from "../../src/core/storage.ts";
import { MemoryStorage } from "../../src/storage/memory/memory-storage.ts";
import { chunk, Lab, type LabTask } from "../../src/testing/contract/lab.ts";

const HOUR = 3_600_000;
const BOUNDS = {
  maxBytes: 1 << 28,
  retentionMs: HOUR,
  interruptedRetentionMs: HOUR,
  leaseMs: HOUR,
  windowEntries: 1000,
  windowBytes: 1 << 20,
};
const AT_ONCE = 4;

/** Cold reads begin with the checkpoint, and wait here until they are let through. */
class GatedStorage extends MemoryStorage {
  /** Cold reads that wait, by their tasks, in the order in which they came. */
  readonly waiting: { readonly taskId: string; readonly go: (error?: Error) => void }[] = [];
  /** Tasks of all cold reads. */
  readonly cold: string[] = [];
  /** Pages of logs that were read. */
  pages = 0;

  override async checkpointOf(taskId: string): Promise<StoredCheckpoint | undefined> {
    this.cold.push(taskId);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.waiting.push({ taskId, go: (error) => (error === undefined ? resolve() : reject(error)) });
    await promise;
    return super.checkpointOf(taskId);
  }

  override read(taskId: string, after: Position): Promise<TailStep> {
    this.pages += 1;
    return super.read(taskId, after);
  }

  /** Lets the first one through, or fails it. */
  pass(error?: Error): void {
    this.waiting.shift()?.go(error);
  }
}

let storage: GatedStorage;
let lab: Lab;
let snapshots: Snapshots;
beforeEach(async () => {
  storage = new GatedStorage(BOUNDS);
  lab = await Lab.open(async () => ({ storage }));
  snapshots = new Snapshots(storage, { cacheBytes: 1 << 20, historyLimit: 10 });
});

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function tasksOf(count: number): Promise<LabTask[]> {
  const tasks: LabTask[] = [];
  for (let made = 0; made < count; made += 1) tasks.push(await lab.owned());
  return tasks;
}

test("forty cold reads of one task are one read", async () => {
  const task = await lab.owned();
  const reads = Array.from({ length: 40 }, () => snapshots.read(task.id));
  await settled();
  assert.equal(storage.waiting.length, 1);
  storage.pass();
  const read = await Promise.all(reads);
  assert.deepEqual([storage.cold, storage.pages], [[task.id], 2], "one page, and the end of the log");
  for (const snapshot of read) assert.equal(snapshot, read[0]);
});

test("who joins a cold read sees what was appended before it asked, however far the read had come", async () => {
  const task = await lab.owned();
  const first = snapshots.read(task.id);
  await settled();
  storage.pass();
  // The log was read to its end while nobody else had asked; more comes at every step after that.
  const joined: { readonly asked: number; readonly read: Promise<{ readonly position: Position }> }[] = [];
  for (let count = 0; count < 10; count += 1) {
    await task.append([chunk()]);
    joined.push({ asked: task.position.offset, read: snapshots.read(task.id) });
  }
  await first;
  for (const { asked, read } of joined) assert.ok((await read).position.offset >= asked);
  assert.deepEqual(storage.cold, [task.id]);
});

test("four cold reads are on their way at once, the others follow in the order in which they came; warm reads do not wait", async () => {
  const warm = await lab.owned();
  const warmed = snapshots.read(warm.id);
  await settled();
  storage.pass();
  await warmed;
  const ids = (await tasksOf(10)).map(({ id }) => id);
  const reads = ids.map((id) => snapshots.read(id));
  for (let passed = 0; passed < ids.length; passed += 1) {
    await settled();
    assert.deepEqual(
      storage.waiting.map(({ taskId }) => taskId),
      ids.slice(passed, passed + AT_ONCE),
    );
    await warm.append([chunk()]);
    assert.deepEqual((await snapshots.read(warm.id)).position, warm.position);
    storage.pass();
  }
  for (const [index, { task }] of (await Promise.all(reads)).entries()) assert.equal(task.id, ids[index]);
});

test("a cold read that fails tells all who wait for it, frees its turn, and is made anew for the next who asks", async () => {
  const tasks = await tasksOf(AT_ONCE + 1);
  const [failing, ...others] = tasks;
  assert.ok(failing !== undefined);
  const failed = [snapshots.read(failing.id), snapshots.read(failing.id)];
  const reads = others.map(({ id }) => snapshots.read(id));
  await settled();
  const outcomes = Promise.allSettled(failed);
  storage.pass(new RangeError("broken"));
  for (const outcome of await outcomes) assert.ok(outcome.status === "rejected" && outcome.reason instanceof RangeError);
  await settled();
  assert.deepEqual(
    storage.waiting.map(({ taskId }) => taskId),
    others.map(({ id }) => id),
  );
  while (storage.waiting.length > 0) storage.pass();
  await Promise.all(reads);
  const again = snapshots.read(failing.id);
  await settled();
  storage.pass();
  assert.deepEqual((await again).position, failing.position);
  // One that has gone meanwhile frees its turn as well.
  const gone = Array.from({ length: 2 * AT_ONCE }, (_, index) => snapshots.fresh(`gone ${index}`));
  const all = Promise.allSettled(gone);
  for (let count = 0; count < gone.length; count += 1) {
    await settled();
    storage.pass(taskNotFound("gone"));
  }
  for (const { status } of await all) assert.equal(status, "rejected");
});
