/** What callers append: messages and cancel requests, with an owner and without. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { isRefused } from "../../core/errors.ts";
import type { Hint } from "../../core/storage.ts";
import { assertRefused, chunk, Lab, type LabTask, type OpenStore, request, SCOPE, status } from "./lab.ts";

const LEASE_MS = 100;
const EXPIRED_MS = 150;

/** Commands. */
export function commandContract(open: OpenStore): void {
  test("a message to an interrupted task brings WORKING in the same step, and the lease to the caller's replica", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const lease = request("r2");
    const reply = await task.followUp({ lease });
    assert.deepEqual(reply, { is: "appended", offset: 5, lease: { taskId: task.id, epoch: 2, token: lease.token }, owned: false });
    assert.deepEqual(await tail(task, 3), ["4 event 2", "5 command 2"]);
    const { state, attempts, lastCommand, consumed, leased } = await task.meta();
    assert.deepEqual(
      { state, attempts, lastCommand, consumed, leased },
      { state: TaskState.WORKING, attempts: 1, lastCommand: 5, consumed: 2, leased: true },
    );
    assert.deepEqual(await lab.takeAll(), []);
    assert.equal((await listed(lab, TaskState.WORKING)).length, 1);
    assert.equal((await listed(lab, TaskState.INPUT_REQUIRED)).length, 0);
  });

  test("without capacity at the caller's replica the task waits, and the message counts as never tried", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const reply = await task.followUp();
    assert.deepEqual({ lease: reply.lease, owned: reply.owned }, { lease: undefined, owned: false });
    assert.equal((await task.meta()).leased, false);
    await task.take();
    const { attempts, begun } = await task.meta();
    assert.deepEqual({ attempts, begun }, { attempts: 1, begun: false });
  });

  test("a message to an interrupted task with a living owner leaves the lease with it and tells it", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    const told = Promise.withResolvers<Hint>();
    using ear = lab.storage.listen("r1", told.resolve);
    await ear.ready;
    const reply = await task.followUp({ lease: request("r2") });
    assert.deepEqual(reply, { is: "appended", offset: 5, lease: undefined, owned: true });
    assertTold(await told.promise, task);
    assert.deepEqual(await tail(task, 3), ["4 event 1", "5 command 1"]);
    await task.append([chunk()], { consumed: 5 });
  });

  test("an owner whose lease has expired is no living one: the message's replica gets the task", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await lab.pass(EXPIRED_MS);
    const reply = await task.followUp({ lease: request("r2") });
    assert.equal(reply.lease?.epoch, 2);
    assert.equal((await task.meta()).attempts, 1);
    await assertRefused(task, "FENCED", () => task.append([chunk()]));
    await lab.storage.sweep();
    assert.deepEqual(await lab.takeAll(), []);
  });

  test("a message to a working task is appended alone; owned or waiting, it stays so", async () => {
    await using lab = await Lab.open(open);
    const owned = await lab.owned();
    await owned.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    const reply = await owned.command("message", { lease: request("r2") });
    assert.deepEqual(reply, { is: "appended", offset: 4, lease: undefined, owned: true });
    const waiting = await lab.begin();
    const other = await waiting.command("message", { lease: request("r2") });
    assert.deepEqual(other, { is: "appended", offset: 3, lease: undefined, owned: false });
    assert.deepEqual(await lab.takeAll(), [waiting.id]);
  });

  test("STALE: a message whose sender did not know that the task is interrupted, or that it is not any more", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    await assertRefused(task, "STALE", () => task.command("message"));
    await assertRefused(task, "STALE", () => task.followUp({ after: { ...task.position, mark: "ffffffff" } }));
    await assertRefused(task, "STALE", () => task.followUp({ after: { offset: 2, mark: "00000000" } }));
    const working = await lab.owned();
    await assertRefused(working, "STALE", () => working.followUp());
  });

  test("STALE: ready-made events that are older than the stored status", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted({ statusTime: 1_700_000_001_000 });
    task.statusTime = 1_700_000_000_999;
    await assertRefused(task, "STALE", () => task.followUp());
    task.statusTime = 1_700_000_000_999;
    await assertRefused(task, "STALE", () => task.command("cancel", { canceled: task.ready(TaskState.CANCELED) }));
  });

  test("of two messages at the same time to an interrupted task one begins the turn, the other looks again", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const both = await Promise.allSettled([task.followUp({ lease: request("r1") }), task.followUp({ lease: request("r2") })]);
    const won = both.filter(({ status: end }) => end === "fulfilled");
    const lost = both.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    assert.equal(won.length, 1);
    assert.ok(isRefused(lost[0], "STALE"));
    assert.equal((await task.meta()).position.offset, 5);
  });

  test("a cancel of a task that nobody owns appends the ready-made CANCELED: waiting, interrupted, or expired", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const [waiting, interrupted, expired] = [await lab.begin(), await lab.interrupted(), await lab.owned()];
    await lab.pass(EXPIRED_MS);
    for (const task of [waiting, interrupted, expired]) {
      const { offset } = task.position;
      await task.look();
      const reply = await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
      assert.equal(reply.owned, false);
      assert.equal(reply.lease, undefined);
      const { state, leased, position } = await task.meta();
      assert.deepEqual({ state, leased }, { state: TaskState.CANCELED, leased: false });
      assert.equal(position.offset, reply.offset);
      assert.ok(position.offset >= offset + 2);
      const kinds = (await task.entries()).map(({ kind }) => kind);
      assert.deepEqual(kinds.slice(-2), ["command", "event"]);
    }
    await lab.storage.sweep();
    assert.deepEqual(await lab.takeAll(), []);
    await assertRefused(expired, ["FENCED", "SEALED"], () => expired.append([chunk()]));
    assert.equal((await listed(lab, TaskState.CANCELED)).length, 3);
  });

  test("a cancel of a task with a living owner only asks, and tells the owner", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const told = Promise.withResolvers<Hint>();
    using ear = lab.storage.listen("r1", told.resolve);
    await ear.ready;
    const reply = await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
    assert.deepEqual(reply, { is: "appended", offset: 3, lease: undefined, owned: true });
    assertTold(await told.promise, task);
    const { state, cancelRequested, leased } = await task.meta();
    assert.deepEqual({ state, cancelRequested, leased }, { state: TaskState.SUBMITTED, cancelRequested: 3, leased: true });
    await task.append([status(TaskState.CANCELED)], { state: TaskState.CANCELED, consumed: 3 });
  });

  test("a pending cancel is known to whoever takes the task over", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    const [taken] = await lab.storage.take(request("r2"), 1);
    assert.equal(taken?.meta.cancelRequested, 3);
  });
}

/** Whether the owner was told of the task's command, or that it may have missed something: it renews then, and learns of it. */
function assertTold(hint: Hint, { id }: LabTask): void {
  if (hint.is !== "back") assert.deepEqual(hint, { is: "command", taskId: id });
}

async function tail(task: LabTask, after: number): Promise<string[]> {
  const entries = await task.entries();
  return entries.filter(({ offset }) => offset > after).map(({ offset, kind, epoch }) => `${offset} ${kind} ${epoch}`);
}

async function listed(lab: Lab, state: TaskState): Promise<readonly unknown[]> {
  const { rows, total } = await lab.storage.list(SCOPE, { contextId: undefined, state, since: undefined }, undefined, 100);
  assert.equal(rows.length, total);
  return rows;
}
