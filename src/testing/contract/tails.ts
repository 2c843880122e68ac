/** Readers of a log: no gap, no repeat, an end where the log ends, nothing left behind. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Position, START } from "../../core/log-entry.ts";
import type { Storage, TailStep } from "../../core/storage.ts";
import { chunk, Lab, type OpenStore, status } from "./lab.ts";

/** Tails and checkpoints. */
export function tailContract(open: OpenStore): void {
  test("SV-04 a tail carries every entry after its position, whenever it began, and ends after the terminal one", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const readers = [collect(lab.storage, task.id, START), collect(lab.storage, task.id, task.position)];
    for (let round = 0; round < 30; round += 1) {
      const appended = await task.append([chunk(`${round}`), chunk()]);
      if (round % 10 === 0) readers.push(collect(lab.storage, task.id, appended[0] as Position));
      if (round % 7 === 0) await task.command("message");
    }
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    readers.push(collect(lab.storage, task.id, START));
    const log = (await task.entries()).map(({ offset, mark }) => `${offset}.${mark}`);
    for (const seen of await Promise.all(readers)) {
      assert.equal(seen.at(-1), "end");
      assert.deepEqual(seen.slice(0, -1), log.slice(log.length - seen.length + 1));
    }
    const [all, afterStart] = await Promise.all(readers);
    assert.equal(all?.length, log.length + 1);
    assert.equal(afterStart?.length, log.length - 1);
  });

  test("a tail that waits is woken by an append", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const tail = lab.storage.tail(task.id, task.position, new AbortController().signal);
    const waiting = tail.next();
    const early = await Promise.race([waiting.then(() => "answered"), new Promise((resolve) => setTimeout(() => resolve("waits"), 20))]);
    assert.equal(early, "waits");
    const written = chunk();
    await task.append([written]);
    const step = await waiting;
    assert.ok(step.done !== true && step.value.is === "entries");
    assert.equal(step.value.entries[0]?.mark, written.mark);
    await tail.return?.();
  });

  test("a tail of an ended task after its end ends at once", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.FAILED)], { state: TaskState.FAILED, consumed: 2 });
    assert.deepEqual(await collect(lab.storage, task.id, task.position), ["end"]);
  });

  test("a page that is read while the log is trimmed has no gap: it ends before one, or is gone", async () => {
    await using lab = await Lab.open(open, { windowEntries: 10 });
    for (let round = 0; round < 6; round += 1) {
      const task = await lab.owned();
      for (let batch = 0; batch < 3; batch += 1) await task.append(Array.from({ length: 100 }, () => chunk()));
      const trimmed = lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: new Uint8Array(8) });
      const reads: Promise<TailStep>[] = [];
      for (let count = 0; count < 20; count += 1) {
        reads.push(lab.storage.read(task.id, START));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await trimmed;
      for (const step of await Promise.all(reads)) {
        if (step.is === "gone") continue;
        for (const [index, { offset }] of step.entries.entries()) assert.equal(offset, index + 1);
      }
    }
  });

  test("an abort ends a tail that waits, and leaves no listener", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const reader = new AbortController();
    const reading = collect(lab.storage, task.id, task.position, reader.signal);
    await new Promise((resolve) => setImmediate(resolve));
    reader.abort();
    assert.deepEqual(await reading, ["end"]);
    assert.deepEqual(await collect(lab.storage, task.id, START, reader.signal), ["end"], "a signal that is aborted already");
    assert.equal(getEventListeners(reader.signal, "abort").length, 0);
  });

  test("however a tail ends, it leaves no listener on its signal", async () => {
    await using lab = await Lab.open(open, { windowEntries: 1 });
    const task = await lab.owned();
    const { signal } = new AbortController();
    const left = lab.storage.tail(task.id, START, signal);
    await left.next();
    await left.return?.();
    const waiting = lab.storage.tail(task.id, task.position, signal);
    const asked = waiting.next();
    await waiting.return?.();
    assert.equal((await asked).done, true);
    assert.deepEqual(await collect(lab.storage, task.id, { offset: 1, mark: "ffffffff" }, signal), ["gone", "end"]);
    await task.append([status(TaskState.FAILED)], { state: TaskState.FAILED, consumed: 2 });
    assert.equal((await collect(lab.storage, task.id, START, signal)).at(-1), "end");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  test("a tail from a position of another history is gone, and ends", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    assert.deepEqual(await collect(lab.storage, task.id, { offset: 2, mark: "ffffffff" }), ["gone", "end"]);
    assert.deepEqual(await collect(lab.storage, task.id, { offset: 7, mark: "ffffffff" }), ["gone", "end"]);
  });

  test("SV-05 P-13 a slow reader holds nobody up and misses nothing", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const slow = lab.storage.tail(task.id, START, new AbortController().signal);
    const first = await slow.next();
    assert.ok(first.done !== true && first.value.is === "entries");
    for (let round = 0; round < 20; round += 1) await task.append(Array.from({ length: 100 }, () => chunk()));
    const seen = first.value.entries.map(({ offset }) => offset);
    while (seen.length < 2002) {
      const step = await slow.next();
      assert.ok(step.done !== true && step.value.is === "entries");
      for (const { offset } of step.value.entries) seen.push(offset);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 2002 }, (_, index) => index + 1),
    );
    await slow.return?.();
  });
}

/** Reads a tail to its end. */
async function collect(
  storage: Storage,
  taskId: string,
  after: Position,
  signal: AbortSignal = new AbortController().signal,
): Promise<string[]> {
  const seen: string[] = [];
  for await (const step of storage.tail(taskId, after, signal)) {
    if (step.is === "gone") seen.push("gone");
    else for (const { offset, mark } of step.entries) seen.push(`${offset}.${mark}`);
  }
  seen.push("end");
  return seen;
}
