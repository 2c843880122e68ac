/** Checkpoints and what they trim; what leaves the store, and when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { isRefused } from "../../core/errors.ts";
import { type Position, START } from "../../core/log-entry.ts";
import type { StoredCheckpoint } from "../../core/storage.ts";
import { assertRefused, chunk, Lab, type OpenStore, request, SCOPE, status } from "./lab.ts";

const RETENTION_MS = 100;
const OVER_MS = 150;

/** Checkpoints. */
export function checkpointContract(open: OpenStore): void {
  test("a checkpoint is read back as it was written, with its position", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    assert.equal(await lab.storage.checkpointOf(task.id), undefined);
    const large = Uint8Array.from({ length: 2_500_000 }, (_, index) => index % 251);
    await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: large });
    const stored = await lab.storage.checkpointOf(task.id);
    assert.deepEqual(stored?.position, task.position);
    assert.ok(Buffer.from(large).equals(stored?.bytes ?? new Uint8Array()));
  });

  test("a checkpoint never goes backwards", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const early = task.position;
    await task.append([chunk(), chunk()]);
    await lab.storage.checkpoint(task.id, task.lease, at(task.position, 2));
    await lab.storage.checkpoint(task.id, task.lease, at(early, 1)).catch((error: unknown) => assert.ok(isRefused(error)));
    await lab.storage.checkpoint(task.id, task.lease, at(task.position, 2));
    assert.deepEqual(plain(await lab.storage.checkpointOf(task.id)), plain(at(task.position, 2)));
  });

  test("a checkpoint of a position that the log does not hold is refused", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    for (const position of [{ ...task.position, mark: "ffffffff" }, { offset: 3, mark: "ffffffff" }, START]) {
      await assertRefused(task, "STALE", () => lab.storage.checkpoint(task.id, task.lease, at(position, 1)));
    }
    assert.equal(await lab.storage.checkpointOf(task.id), undefined);
  });

  test("a checkpoint is the owner's to write, and anyone's once the log is sealed", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await assertRefused(task, "FENCED", () => lab.storage.checkpoint(task.id, undefined, at(task.position, 1)));
    await assertRefused(task, "FENCED", () => lab.storage.checkpoint(task.id, { ...task.lease, token: "other" }, at(task.position, 1)));
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    await lab.storage.checkpoint(task.id, undefined, at(task.position, 3));
    assert.deepEqual((await lab.storage.checkpointOf(task.id))?.position, task.position);
  });

  test("a checkpoint trims to the resume window in entries: inside it a reader goes on, outside it is gone", async () => {
    await using lab = await Lab.open(open, { windowEntries: 10 });
    const task = await lab.owned();
    await task.append(Array.from({ length: 30 }, () => chunk()));
    const log = await task.entries();
    await lab.storage.checkpoint(task.id, task.lease, at(task.position, 1));
    const { firstOffset, position } = await task.meta();
    assert.equal(position.offset, 32);
    assert.ok(firstOffset > 2 && firstOffset <= 23, `the window is kept: ${firstOffset}`);
    for (const entry of log) {
      const step = await lab.storage.read(task.id, entry);
      const kept = entry.offset >= firstOffset - 1;
      assert.equal(step.is, kept ? "entries" : "gone");
      if (step.is === "entries") assert.equal(step.entries.length, 32 - entry.offset);
    }
    assert.deepEqual(await lab.storage.read(task.id, START), { is: "gone" });
  });

  test("a checkpoint trims to the resume window in bytes, where that is the smaller one", async () => {
    await using lab = await Lab.open(open, { windowBytes: 5000 });
    const task = await lab.owned();
    await task.append(Array.from({ length: 30 }, () => chunk("x".repeat(950))));
    await lab.storage.checkpoint(task.id, task.lease, at(task.position, 1));
    const { firstOffset } = await task.meta();
    assert.ok(firstOffset >= 26 && firstOffset <= 32, `${firstOffset}`);
  });

  test("nothing after the checkpoint is ever trimmed, however small the window", async () => {
    await using lab = await Lab.open(open, { windowEntries: 1 });
    const task = await lab.owned();
    const middle = (await task.append([chunk(), chunk(), chunk()]))[0] as Position;
    await task.append([chunk(), chunk()]);
    await lab.storage.checkpoint(task.id, task.lease, at({ offset: middle.offset, mark: middle.mark }, 1));
    const step = await lab.storage.read(task.id, middle);
    assert.ok(step.is === "entries");
    assert.deepEqual(
      step.entries.map(({ offset }) => offset),
      [4, 5, 6, 7],
    );
    await task.append([chunk()]);
    assert.equal((await task.meta()).position.offset, 8);
  });

  test("a tail that fell behind the window is told that its place is gone", async () => {
    await using lab = await Lab.open(open, { windowEntries: 2 });
    const task = await lab.owned();
    const tail = lab.storage.tail(task.id, START, new AbortController().signal);
    await tail.next();
    for (let round = 0; round < 10; round += 1) await task.append(Array.from({ length: 100 }, () => chunk()));
    await lab.storage.checkpoint(task.id, task.lease, at(task.position, 1));
    const steps: string[] = [];
    for await (const step of tail) steps.push(step.is);
    assert.equal(steps.at(-1), "gone");
  });
}

/** Retention. */
export function retentionContract(open: OpenStore): void {
  test("R-070 a finished task goes after its time with every row that named it; others stay", async () => {
    await using lab = await Lab.open(open, { retentionMs: RETENTION_MS });
    const [done, working, waiting] = [await lab.owned(), await lab.owned(), await lab.interrupted()];
    await done.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    assert.equal((await lab.storage.sweep()).removed, 0);
    assert.ok((await lab.storage.meta(done.id)) !== undefined);
    await lab.pass(OVER_MS);
    assert.deepEqual(await lab.storage.sweep(), { expired: 0, removed: 1, abandoned: [], backlog: { waiting: 0, due: 0 } });
    assert.equal(await lab.storage.meta(done.id), undefined);
    assert.equal(await lab.storage.checkpointOf(done.id), undefined);
    const { rows, total } = await lab.storage.list(SCOPE, { contextId: undefined, state: undefined, since: undefined }, undefined, 10);
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), [working.id, waiting.id].toSorted());
    assert.equal(total, 2);
  });

  test("a reader that has seen the end of a task is not told that it is gone", async () => {
    await using lab = await Lab.open(open, { retentionMs: RETENTION_MS });
    const task = await lab.owned();
    const tail = lab.storage.tail(task.id, task.position, new AbortController().signal);
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    assert.equal((await tail.next()).done, false);
    await lab.pass(OVER_MS);
    await lab.storage.sweep();
    assert.equal((await tail.next()).done, true);
  });

  test("an interrupted task that nobody went on with is named by the sweep until it has ended", async () => {
    // Long enough for what comes before the first sweep, on a busy machine too.
    const interruptedRetentionMs = 10 * RETENTION_MS;
    await using lab = await Lab.open(open, { interruptedRetentionMs });
    const [left, answered] = [await lab.interrupted(), await lab.interrupted()];
    assert.deepEqual((await lab.storage.sweep()).abandoned, []);
    await answered.followUp({ lease: request() });
    await lab.pass(10 * OVER_MS);
    assert.deepEqual((await lab.storage.sweep()).abandoned, [left.id]);
    assert.deepEqual((await lab.storage.sweep()).abandoned, [left.id]);
    await left.command("cancel", { canceled: left.ready(TaskState.CANCELED) });
    assert.deepEqual((await lab.storage.sweep()).abandoned, []);
  });

  test("an interrupted task whose turn is alive is not abandoned", async () => {
    await using lab = await Lab.open(open, { interruptedRetentionMs: RETENTION_MS });
    const task = await lab.owned();
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await lab.pass(OVER_MS);
    assert.deepEqual((await lab.storage.sweep()).abandoned, []);
  });
}

function at({ offset, mark }: Position, byte: number): StoredCheckpoint {
  return { position: { offset, mark }, bytes: Uint8Array.of(byte) };
}

function plain(checkpoint: StoredCheckpoint | undefined): unknown {
  return checkpoint && { position: checkpoint.position, bytes: [...checkpoint.bytes] };
}
