import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../../src/core/errors.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import { MemoryStorage } from "../../src/storage/memory/memory-storage.ts";
import { chunk, Lab, type LabTask, status } from "../../src/testing/contract/lab.ts";

const HOUR = 3_600_000;
const bounds = { maxBytes: 1 << 28, retentionMs: HOUR, interruptedRetentionMs: HOUR, leaseMs: HOUR, windowBytes: 1 << 20 };
const options = { cacheBytes: 1 << 20, historyLimit: 10 };

async function lab(windowEntries = 1000): Promise<Lab> {
  return Lab.open(async () => ({ storage: new MemoryStorage({ ...bounds, windowEntries }) }));
}

const texts = ({ artifacts }: { artifacts: { parts: { content: { value?: unknown } }[] }[] }): unknown[] =>
  (artifacts[0]?.parts ?? []).map(({ content }) => content.value);

test("a read reflects everything that was appended before it began", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, options);
  const task = await bed.owned();
  for (let count = 0; count < 20; count += 1) {
    await task.append([chunk(`${count}`)]);
    const { task: read, position } = await snapshots.read(task.id);
    assert.equal(texts(read).length, count + 1);
    assert.deepEqual(position, task.position);
  }
});

test("a snapshot that was given out stays as it was", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, options);
  const task = await bed.owned();
  await task.append([chunk("1")]);
  const early = await snapshots.read(task.id);
  await task.append([chunk("2")]);
  await snapshots.read(task.id);
  assert.deepEqual(texts(early.task), ["1"]);
  assert.equal(await snapshots.read(task.id), await snapshots.read(task.id), "made once per position");
});

test("readers at the same time share one fold and none of them sees it half done", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, options);
  const task = await bed.owned();
  for (let round = 0; round < 20; round += 1) {
    const reads = [snapshots.read(task.id), snapshots.read(task.id)];
    await task.append([chunk("x"), chunk("y")]);
    reads.push(snapshots.read(task.id));
    for (const { task: read, position } of await Promise.all(reads)) assert.equal(texts(read).length, position.offset - 2);
  }
});

test("a cold read begins at the checkpoint where the first entries are gone", async () => {
  await using bed = await lab(2);
  const task = await bed.owned();
  await task.append(Array.from({ length: 100 }, (_, index) => chunk(`${index}`)));
  const fold = await new Snapshots(bed.storage, options).fresh(task.id);
  await bed.storage.checkpoint(task.id, task.lease, fold.checkpoint(2));
  await task.append([chunk("last")]);
  const { task: read } = await new Snapshots(bed.storage, options).read(task.id);
  assert.equal(texts(read).length, 101);
  assert.equal(texts(read).at(-1), "last");
});

test("a fold that fell behind the window is made anew", async () => {
  await using bed = await lab(1);
  const [early, other] = [new Snapshots(bed.storage, options), new Snapshots(bed.storage, options)];
  const task = await bed.owned();
  await early.read(task.id);
  await task.append(Array.from({ length: 100 }, () => chunk("x")));
  await bed.storage.checkpoint(task.id, task.lease, (await other.fresh(task.id)).checkpoint(2));
  assert.equal(texts((await early.read(task.id)).task).length, 100);
});

test("upTo is the fold of exactly the prefix, whatever has happened since", async () => {
  await using bed = await lab();
  const task = await bed.owned();
  const appended: Entry[] = [];
  for (let count = 0; count < 5; count += 1) appended.push(...(await task.append([chunk(`${count}`)])));
  for (const warm of [false, true]) {
    const snapshots = new Snapshots(bed.storage, options);
    if (warm) await snapshots.read(task.id);
    for (const { offset, mark } of appended) {
      const { task: read, position } = await snapshots.upTo(task.id, offset);
      assert.deepEqual(position, { offset, mark });
      assert.equal(texts(read).length, offset - 2);
    }
    assert.equal(texts((await snapshots.read(task.id)).task).length, 5);
  }
});

test("upTo falls back to a later fold where the prefix is not kept any more", async () => {
  await using bed = await lab(1);
  const task = await bed.owned();
  await task.append(Array.from({ length: 10 }, () => chunk("x")));
  await bed.storage.checkpoint(task.id, task.lease, (await new Snapshots(bed.storage, options).fresh(task.id)).checkpoint(2));
  const { position } = await new Snapshots(bed.storage, options).upTo(task.id, 4);
  assert.equal(position.offset, 12);
});

test("what is cached stays within its bytes, and everything is still read", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, { ...options, cacheBytes: 5000 });
  const tasks: LabTask[] = [];
  for (let count = 0; count < 10; count += 1) {
    const task = await bed.owned();
    await task.append([chunk("x".repeat(1000))]);
    tasks.push(task);
  }
  for (let round = 0; round < 2; round += 1) {
    for (const { id } of tasks) assert.equal(texts((await snapshots.read(id)).task).length, 1);
  }
});

test("a task that does not exist: undefined, or TASK_NOT_FOUND", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, options);
  assert.equal(await snapshots.current("nothing"), undefined);
  await assert.rejects(
    () => snapshots.read("nothing"),
    (error) => error instanceof TaskError && error.reason === "TASK_NOT_FOUND",
  );
});

test("the record and the fold that are answered together belong together", async () => {
  await using bed = await lab();
  const snapshots = new Snapshots(bed.storage, options);
  const task = await bed.owned();
  await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
  const current = await snapshots.current(task.id);
  assert.equal(current?.meta.state, TaskState.INPUT_REQUIRED);
  assert.equal(current?.snapshot.task.status?.state, TaskState.INPUT_REQUIRED);
});

test("a task that goes while it is read is not there", async () => {
  class Removing extends MemoryStorage {
    override read(taskId: string): ReturnType<MemoryStorage["read"]> {
      return Promise.reject(new TaskError("TASK_NOT_FOUND", taskId));
    }
  }
  await using bed = await Lab.open(async () => ({ storage: new Removing({ ...bounds, windowEntries: 1000 }) }));
  const task = await bed.owned();
  assert.equal(await new Snapshots(bed.storage, options).current(task.id), undefined);
});

test("of many small tasks so many are kept as their memory allows, not as their bytes would", async () => {
  class Counting extends MemoryStorage {
    reads = 0;
    override read(...args: Parameters<MemoryStorage["read"]>): ReturnType<MemoryStorage["read"]> {
      this.reads += 1;
      return super.read(...args);
    }
  }
  const storage = new Counting({ ...bounds, windowEntries: 1000 });
  await using bed = await Lab.open(async () => ({ storage }));
  const snapshots = new Snapshots(storage, { ...options, cacheBytes: 20 * 4096 });
  const tasks = await Promise.all(Array.from({ length: 60 }, () => bed.owned()));
  for (const { id } of tasks) await snapshots.read(id);
  const cold = storage.reads / tasks.length;
  for (const { id } of tasks.toReversed()) await snapshots.read(id);
  const again = storage.reads / cold - tasks.length;
  assert.ok(again >= 40 && again < tasks.length, `${again} were read again`);
});
