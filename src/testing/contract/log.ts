/** Order, batches, positions, refusals, and operations repeated after a lost reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, START } from "../../core/log-entry.ts";
import { assertNotFound, assertRefused, chunk, command, Lab, memo, type OpenStore, places, request, status } from "./lab.ts";

/** Create and append. */
export function logContract(open: OpenStore): void {
  test("a created task holds its first entries, in order, from offset 1", async () => {
    await using lab = await Lab.open(open);
    const creation = lab.creation({ lease: request() });
    const reply = await lab.storage.create(creation);
    assert.ok(reply.is === "created");
    assert.deepEqual(
      places(reply.entries),
      creation.entries.map(({ mark }, index) => ({ offset: index + 1, mark })),
    );
    assert.deepEqual(
      reply.entries.map(({ kind, bytes }) => ({ kind, bytes: [...bytes] })),
      creation.entries.map(({ kind, bytes }) => ({ kind, bytes: [...bytes] })),
    );
    const meta = await lab.storage.meta(creation.id);
    assert.equal(meta?.state, TaskState.SUBMITTED);
    assert.deepEqual(meta?.scope, creation.scope);
    assert.equal(meta?.contextId, creation.contextId);
    assert.equal(meta?.generation, 1);
    assert.equal(meta?.lastCommand, 2);
  });

  test("offsets run 1..n over creates, appends and commands, each entry at its own mark", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING), chunk()], { state: TaskState.WORKING, consumed: 2 });
    await task.command("message");
    await task.append([chunk(), chunk()]);
    const entries = await task.entries();
    assert.deepEqual(
      entries.map(({ offset }) => offset),
      [1, 2, 3, 4, 5, 6, 7],
    );
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ["event", "command", "event", "event", "command", "event", "event"],
    );
    assert.equal(new Set(entries.map(({ mark }) => mark)).size, 7);
    const meta = await task.meta();
    assert.deepEqual(meta.position, { offset: 7, mark: entries.at(-1)?.mark });
    assert.equal(meta.generation, 5, "events are counted, commands are not");
    assert.equal(meta.lastCommand, 5);
  });

  test("a memo has its place in the log, and is no event and no command", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const left = memo({ at: 1 });
    await task.append([status(TaskState.WORKING), left, chunk()], { state: TaskState.WORKING, consumed: 2 });
    const entry = (await task.entries())[3];
    assert.deepEqual([entry?.kind, entry?.mark, entry?.offset], ["memo", left.mark, 4]);
    assert.deepEqual(entry?.memo.value, { at: 1 });
    const { generation, lastCommand } = await task.meta();
    assert.deepEqual({ generation, lastCommand }, { generation: 3, lastCommand: 2 });
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2, unlessPending: true });
  });

  test("an append answers its entries at their places, in the order given", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const batch = Array.from({ length: 20 }, (_, index) => chunk(`${index}`));
    const appended = await task.append(batch);
    assert.deepEqual(
      places(appended),
      batch.map(({ mark }, index) => ({ offset: index + 3, mark })),
    );
    assert.deepEqual(places(await task.entries(appended[4])), places(appended.slice(5)));
  });

  test("a batch appears whole: no reader sees a part of it", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const done = new AbortController();
    const lengths = new Set<number>();
    const reading = (async () => {
      while (!done.signal.aborted) {
        lengths.add((await task.meta()).position.offset);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let round = 0; round < 40; round += 1) await task.append([chunk(), chunk(), chunk(), chunk(), chunk()]);
    done.abort();
    await reading;
    for (const length of lengths) assert.equal((length - 2) % 5, 0);
  });

  test("a position whose mark differs, or that lies beyond the end, is gone", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([chunk()]);
    assert.deepEqual(await lab.storage.read(task.id, { offset: 2, mark: "ffffffff" }), { is: "gone" });
    assert.deepEqual(await lab.storage.read(task.id, { offset: 0, mark: "ffffffff" }), { is: "gone" });
    assert.deepEqual(await lab.storage.read(task.id, { offset: 9, mark: task.position.mark }), { is: "gone" });
    assert.deepEqual(await lab.storage.read(task.id, task.position), { is: "entries", entries: [] });
  });

  test("entries carry the epoch of the lease that they were written under, and epochs never fall", async () => {
    await using lab = await Lab.open(open, { leaseMs: 100 });
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    await lab.pass(150);
    await lab.storage.sweep();
    await task.take();
    await task.append([chunk()]);
    await task.command("message");
    const epochs = (await task.entries()).map(({ epoch }) => epoch);
    assert.deepEqual(epochs, [1, 1, 1, 2, 2]);
  });

  test("a large log is read in pages, without a gap or a repeat", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const text = "x".repeat(3000);
    for (let round = 0; round < 8; round += 1) await task.append(Array.from({ length: 200 }, () => chunk(text)));
    const entries = await task.entries();
    assert.deepEqual(
      entries.map(({ offset }) => offset),
      Array.from({ length: 1602 }, (_, index) => index + 1),
    );
  });

  test("what does not exist: no meta, TASK_NOT_FOUND to readers and callers, FENCED to writers", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const id = lab.storage.newId("another");
    assert.equal(await lab.storage.meta(id), undefined);
    assert.equal(await lab.storage.checkpointOf(id), undefined);
    await assertNotFound(() => lab.storage.read(id, START));
    await assertNotFound(() => lab.storage.tail(id, START, new AbortController().signal).next());
    await assertNotFound(() => lab.storage.command(task.commandRequest("message", { taskId: id })));
    await assertRefused(task, "FENCED", () => lab.storage.append({ ...task.lease, taskId: id }, task.batch([chunk()])));
    await assertRefused(task, "FENCED", () => lab.storage.release({ ...task.lease, taskId: id }, "ready", 0));
    assert.deepEqual(await lab.storage.renew([{ lease: { ...task.lease, taskId: id }, consumed: 0 }]), [{ is: "fenced" }]);
  });

  refusals(open);
  lostReplies(open);
}

function refusals(open: OpenStore): void {
  test("FENCED: an append under another token or another epoch is refused and changes nothing", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await assertRefused(task, "FENCED", () => task.append([chunk()], { lease: { ...task.lease, token: "other" } }));
    await assertRefused(task, "FENCED", () => task.append([chunk()], { lease: { ...task.lease, epoch: 2 } }));
    await assertRefused(task, "FENCED", () => task.append([chunk()], { lease: { ...task.lease, epoch: 0 } }));
  });

  test("R-171 SEALED: nothing follows a terminal event, which ends the lease too", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    await assertRefused(task, "SEALED", () => task.append([chunk()]));
    await assertRefused(task, "SEALED", () => task.command("message"));
    await assertRefused(task, "SEALED", () => task.command("cancel", { canceled: task.ready(TaskState.CANCELED) }));
    assert.equal((await task.meta()).leased, false);
    assert.deepEqual(await lab.takeAll(), []);
    assert.deepEqual(await lab.storage.renew([{ lease: task.lease, consumed: 2 }]), [{ is: "fenced" }]);
  });

  test("PENDING: an append that asks for it is refused while a command lies after `consumed`", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    await task.command("message");
    const done = { state: TaskState.COMPLETED, unlessPending: true };
    await assertRefused(task, "PENDING", () => task.append([status(TaskState.COMPLETED)], { ...done, consumed: 2 }));
    await task.append([chunk()], { consumed: 2 });
    await task.append([status(TaskState.COMPLETED)], { ...done, consumed: 4 });
    assert.equal((await task.meta()).state, TaskState.COMPLETED);
  });

  test("STALE: an append is refused where the log has moved on, and where its status is older than the stored one", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const before = task.position;
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, statusTime: 1_700_000_000_500 });
    await assertRefused(task, "STALE", () => task.append([chunk()], { after: before }));
    await assertRefused(task, "STALE", () => task.append([chunk()], { after: { ...task.position, mark: "ffffffff" } }));
    const older = { state: TaskState.COMPLETED, statusTime: 1_700_000_000_499 };
    await assertRefused(task, "STALE", () => task.append([status(TaskState.COMPLETED)], older));
    await task.append([status(TaskState.COMPLETED)], { ...older, statusTime: 1_700_000_000_500 });
  });
}

function lostReplies(open: OpenStore): void {
  test("a repeated create answers as the first time, whatever has happened since, and adds nothing", async () => {
    await using lab = await Lab.open(open, { leaseMs: 100, windowEntries: 1 });
    const creation = lab.creation({ lease: request() });
    const first = await lab.storage.create(creation);
    assert.ok(first.is === "created" && first.lease !== undefined);
    assert.deepEqual(answer(await lab.storage.create(creation)), answer(first));
    // The lease goes to another replica, the first entries are trimmed: the answer stays, and its lease is fenced.
    await lab.pass(150);
    await lab.storage.sweep();
    const [taken] = await lab.storage.take(request("r2"), 1);
    assert.ok(taken !== undefined);
    const after = taken.meta.position;
    const batch = { entries: [chunk(), chunk(), chunk()], head: undefined, after, consumed: 2, unlessPending: false };
    const { offset, mark } = (await lab.storage.append(taken.lease, batch)).at(-1) as Entry;
    await lab.storage.checkpoint(creation.id, taken.lease, { position: { offset, mark }, bytes: new Uint8Array(1) });
    assert.deepEqual(answer(await lab.storage.create(creation)), answer(first));
    assert.deepEqual((await lab.storage.meta(creation.id))?.position, { offset: 5, mark });
    assert.deepEqual(await lab.storage.renew([{ lease: first.lease, consumed: 0 }]), [{ is: "fenced" }]);
  });

  test("a repeated create of a task that waits answers without a lease, and it waits once", async () => {
    await using lab = await Lab.open(open);
    const creation = lab.creation();
    const first = await lab.storage.create(creation);
    assert.deepEqual(answer(await lab.storage.create(creation)), answer(first));
    assert.deepEqual(await lab.takeAll(), [creation.id]);
    assert.deepEqual(answer(await lab.storage.create(creation)), answer(first));
    assert.deepEqual(await lab.takeAll(), []);
  });

  test("a repeated append answers as the first time and adds nothing, even after a command or the terminal event", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const batch = task.batch([chunk(), chunk()], { consumed: 2 });
    const first = await lab.storage.append(task.lease, batch);
    await task.command("message");
    assert.deepEqual(places(await lab.storage.append(task.lease, batch)), places(first));
    await task.look();
    const last = task.batch([status(TaskState.FAILED)], { state: TaskState.FAILED });
    const sealed = await lab.storage.append(task.lease, last);
    assert.deepEqual(places(await lab.storage.append(task.lease, last)), places(sealed));
    assert.equal((await task.entries()).length, 6);
  });

  test("an append that is repeated after its owner lost the task is not written twice", async () => {
    await using lab = await Lab.open(open, { leaseMs: 100 });
    const task = await lab.owned();
    const old = task.lease;
    const batch = task.batch([chunk()], { consumed: 2 });
    await lab.storage.append(old, batch);
    await lab.pass(150);
    await lab.storage.sweep();
    await task.take();
    await lab.storage.append(old, batch).catch(() => undefined);
    await task.look();
    await task.append([chunk()]);
    await assert.rejects(() => lab.storage.append(old, task.batch([chunk()])));
    await lab.storage.append(old, batch).catch(() => undefined);
    assert.equal((await task.entries()).filter(({ mark }) => mark === batch.entries[0]?.mark).length, 1);
    assert.equal((await task.meta()).position.offset, 4);
  });

  test("a repeated command answers as the first time and adds nothing, even after the task has ended", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const message = task.commandRequest("message", { working: task.ready(TaskState.WORKING), lease: request("r2") });
    const first = await lab.storage.command(message);
    assert.deepEqual(await lab.storage.command(message), first);
    assert.ok(first.is === "appended" && first.lease !== undefined);
    await task.look();
    task.lease = first.lease;
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: first.offset });
    assert.deepEqual(await lab.storage.command(message), first);
    assert.equal((await task.entries()).length, 6);
  });

  test("a repeated cancel of a task that nobody owns is no second cancel", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.begin();
    const cancel = task.commandRequest("cancel", { canceled: task.ready(TaskState.CANCELED) });
    const first = await lab.storage.command(cancel);
    assert.deepEqual(await lab.storage.command(cancel), first);
    assert.equal((await task.entries()).length, 4);
  });

  test("entries are handed out as they were written: bytes, kind, content", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const written = chunk("äöü €");
    await task.append([written]);
    await task.command("message", { entry: command("followUp", "again") });
    const [event, message] = await task.entries({ offset: 2, mark: (await task.entries())[1]?.mark ?? "" });
    assert.deepEqual([...(event?.bytes ?? [])], [...written.bytes]);
    assert.equal(event?.event.payload.case, "artifactUpdate");
    assert.equal(message?.command.kind.case, "followUp");
  });
}

function answer(reply: { is: string; entries?: readonly Entry[]; lease?: unknown }): unknown {
  const { is, entries, lease } = reply;
  return { is, lease, entries: entries?.map(({ offset, mark, epoch, kind, bytes }) => ({ offset, mark, epoch, kind, bytes: [...bytes] })) };
}
