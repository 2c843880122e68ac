import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../../src/core/errors.ts";
import { MemoryStorage } from "../../src/storage/memory/memory-storage.ts";
import { chunk, Lab, type LabTask, type OpenStore, SCOPE, status } from "../../src/testing/contract/lab.ts";
import { storageContract } from "../../src/testing/index.ts";

const bounded =
  (maxBytes: number): OpenStore =>
  async (options) => {
    let now = 1_800_000_000_000;
    const storage = new MemoryStorage({ ...options, maxBytes, now: () => now });
    return { storage, advance: (ms) => void (now += ms) };
  };

storageContract("memory", bounded(1024 ** 3));

suite("memory: eviction", () => {
  test("tasks at rest make room, the one that finished first goes first, with every row that named it", async () => {
    await using lab = await Lab.open(bounded(50_000));
    const repeat = { key: "k", taskId: undefined, mode: "window", windowMs: 1e9 } as const;
    const [first, second, running] = [await lab.owned({ repeat }), await lab.owned(), await lab.owned()];
    await finish(second, 10_000);
    await finish(first, 10_000);
    await running.append([chunk("x".repeat(25_000))]);
    assert.equal(await lab.storage.meta(second.id), undefined);
    assert.equal((await first.meta()).state, TaskState.COMPLETED);
    await lab.owned();
    await running.append([chunk("x".repeat(15_000))]);
    assert.equal(await lab.storage.meta(first.id), undefined);
    assert.equal(await lab.storage.findRepeat(repeat), undefined);
    const { total } = await lab.storage.list(SCOPE, { contextId: undefined, state: undefined, since: undefined }, undefined, 10);
    assert.equal(total, 2);
  });

  test("where only running tasks are left a new one is refused and nothing of it appears; running ones go on", async () => {
    await using lab = await Lab.open(bounded(30_000));
    const running = await lab.owned();
    await running.append([chunk("x".repeat(30_000))]);
    const creation = lab.creation();
    await assert.rejects(
      () => lab.storage.create(creation),
      (error) => error instanceof TaskError && error.reason === "RESOURCE_EXHAUSTED" && (error.retryAfterMs ?? 0) > 0,
    );
    assert.equal(await lab.storage.meta(creation.id), undefined);
    assert.deepEqual(await lab.takeAll(), []);
    await running.append([chunk()]);
    await running.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    assert.equal((await lab.storage.create(creation)).is, "created");
  });

  test("an interrupted task is evicted only where no finished one is left", async () => {
    await using lab = await Lab.open(bounded(60_000));
    const waiting = await lab.interrupted();
    const finished = await lab.owned();
    await finish(finished, 20_000);
    const running = await lab.owned();
    await running.append([chunk("x".repeat(40_000))]);
    assert.equal(await lab.storage.meta(finished.id), undefined);
    assert.equal((await waiting.meta()).state, TaskState.INPUT_REQUIRED);
    await running.append([chunk("x".repeat(20_000))]);
    assert.equal(await lab.storage.meta(waiting.id), undefined);
  });

  test("what a task took is given back to the byte, however it went: the count never drifts", async () => {
    await using lab = await Lab.open(bounded(100_000), { retentionMs: 50, windowEntries: 2 });
    for (let round = 0; round < 60; round += 1) {
      const task = await lab.owned();
      await task.append([chunk("x".repeat(3000)), chunk(), chunk()], { consumed: 2 });
      await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: new Uint8Array(500) });
      await finish(task, 100);
      if (round % 3 !== 0) continue;
      await lab.pass(100);
      await lab.storage.sweep();
    }
    await lab.pass(100);
    await lab.storage.sweep();
    // An empty store takes what it is said to take.
    const running: LabTask[] = [];
    for (let count = 0; count < 20; count += 1) running.push(await lab.owned());
    for (const task of running) await task.append([chunk()]);
  });
});

async function finish(task: LabTask, bytes: number): Promise<void> {
  await task.append([chunk("x".repeat(bytes)), status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
}
