/** Who runs what: leases from the first grant to the release, `ready`, attempts, and what replicas are told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Hint } from "../../core/storage.ts";
import { assertRefused, chunk, Lab, type LabTask, type OpenStore, request, status } from "./lab.ts";

const LEASE_MS = 100;
const EXPIRED_MS = 150;

/** Leases. */
export function leaseContract(open: OpenStore): void {
  test("a create with a lease owns the task at once: epoch 1, one attempt, nothing to take", async () => {
    await using lab = await Lab.open(open);
    const lease = request();
    const task = await lab.owned({ lease });
    assert.deepEqual(task.lease, { taskId: task.id, epoch: 1, token: lease.token });
    const { leased, epoch, attempts } = await task.meta();
    assert.deepEqual({ leased, epoch, attempts }, { leased: true, epoch: 1, attempts: 1 });
    assert.deepEqual(await lab.takeAll(), []);
  });

  test("a create without a lease waits; the one who takes it gets epoch 1", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.begin();
    assert.equal((await task.meta()).leased, false);
    const asked = request("r2");
    const [taken] = await lab.storage.take(asked, 10);
    assert.deepEqual(taken?.lease, { taskId: task.id, epoch: 1, token: asked.token });
    assert.equal(taken?.meta.attempts, 1);
    assert.deepEqual(taken?.meta, await task.meta());
  });

  test("take gives the oldest first, at most `limit`", async () => {
    await using lab = await Lab.open(open);
    const tasks: LabTask[] = [];
    for (let count = 0; count < 5; count += 1) {
      tasks.push(await lab.begin());
      await lab.pass(5);
    }
    const ids = tasks.map(({ id }) => id);
    const first = await lab.storage.take(request(), 2);
    assert.deepEqual(first.map(({ lease }) => lease.taskId).toSorted(), ids.slice(0, 2).toSorted());
    const rest = await lab.storage.take(request(), 10);
    assert.deepEqual(rest.map(({ lease }) => lease.taskId).toSorted(), ids.slice(2).toSorted());
  });

  test("a repeated take answers the same tasks and takes no more", async () => {
    await using lab = await Lab.open(open);
    await lab.begin();
    await lab.begin();
    const asked = request();
    const first = await lab.storage.take(asked, 1);
    assert.equal(first.length, 1);
    assert.deepEqual(
      (await lab.storage.take(asked, 1)).map(({ lease }) => lease),
      first.map(({ lease }) => lease),
    );
    assert.equal((await lab.takeAll()).length, 1);
  });

  test("replicas that take at the same time never get the same task", async () => {
    await using lab = await Lab.open(open);
    for (let count = 0; count < 12; count += 1) await lab.begin();
    const taken = await Promise.all(["r1", "r2", "r3", "r4"].map((replica) => lab.storage.take(request(replica), 5)));
    const ids = taken.flat().map(({ lease }) => lease.taskId);
    assert.equal(ids.length, 12);
    assert.equal(new Set(ids).size, 12);
  });

  test("a renewed lease outlives its time", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS * 3 });
    const task = await lab.owned();
    for (let round = 0; round < 3; round += 1) {
      await lab.pass(LEASE_MS * 2);
      assert.deepEqual(await renew(lab, task), { is: "held", end: task.position });
      assert.equal((await lab.storage.sweep()).expired, 0);
    }
    await task.append([chunk()]);
  });

  test("an expired lease that nobody took is renewed as if in time, and may append", async () => {
    // Long enough that a renewed one outlives the next step, however busy the machine is.
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS * 8 });
    const task = await lab.owned();
    await lab.pass(LEASE_MS * 9);
    assert.deepEqual(await lab.takeAll(), []);
    await task.append([chunk()]);
    assert.deepEqual(await renew(lab, task), { is: "held", end: task.position });
    assert.equal((await lab.storage.sweep()).expired, 0);
    await task.append([chunk()]);
  });

  test("a sweep moves an expired task to `ready`; the next owner has the next epoch and the old one is fenced everywhere", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    const old = task.lease;
    await lab.pass(EXPIRED_MS);
    assert.equal((await lab.storage.sweep()).expired, 1);
    assert.equal((await lab.storage.sweep()).backlog.waiting, 1);
    // It waits now: only `take` leads out.
    assert.deepEqual(await lab.storage.renew([{ lease: old, consumed: 2 }]), [{ is: "fenced" }]);
    await assertRefused(task, "FENCED", () => task.append([chunk()], { lease: old }));
    const lease = await task.take();
    assert.equal(lease.epoch, 2);
    const { attempts, begun, consumed } = await task.meta();
    assert.deepEqual({ attempts, begun, consumed }, { attempts: 2, begun: true, consumed: 2 });
    await assertRefused(task, "FENCED", () => task.append([chunk()], { lease: old }));
    await assertRefused(task, "FENCED", () => lab.storage.release(old, "ready", 2));
    await assertRefused(task, "FENCED", () => lab.storage.checkpoint(task.id, old, { position: task.position, bytes: new Uint8Array(1) }));
    assert.deepEqual(await lab.storage.renew([{ lease: old, consumed: 2 }]), [{ is: "fenced" }]);
    await task.append([chunk()]);
  });

  test("an expired task at rest with nothing pending only loses the lease", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    const { leased, begun } = await task.meta();
    assert.deepEqual({ leased, begun }, { leased: false, begun: false });
    assert.deepEqual(await lab.takeAll(), []);
  });

  test("an expired task at rest with a command pending is waited for", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    await task.command("message");
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    assert.deepEqual(await lab.takeAll(), [task.id]);
  });

  test("an expired task at rest with a cancel pending is waited for, whatever else was given", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await assertRefused(task, "PENDING", () => lab.storage.release(task.lease, "rest", 2));
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    const [taken] = await lab.storage.take(request("r2"), 10);
    assert.equal(taken?.meta.cancelRequested, 3);
  });

  test("attempts grow with each acquisition and start again when a command is given", async () => {
    await using lab = await Lab.open(open, { leaseMs: LEASE_MS });
    const task = await lab.owned();
    for (const attempts of [2, 3]) {
      await lab.pass(EXPIRED_MS);
      await lab.storage.sweep();
      await task.take();
      assert.equal((await task.meta()).attempts, attempts);
    }
    await task.append([chunk()], { consumed: 2 });
    assert.equal((await task.meta()).attempts, 1);
    await task.append([chunk()], { consumed: 2 });
    await lab.pass(EXPIRED_MS);
    await lab.storage.sweep();
    await task.take();
    assert.equal((await task.meta()).attempts, 2);
  });

  test("renew answers in the order given, with the end of the log: by it the owner knows of commands that it has not heard of", async () => {
    await using lab = await Lab.open(open);
    const [one, two, three] = [await lab.owned(), await lab.owned(), await lab.owned()];
    await two.command("message");
    const strange = { ...three.lease, token: "other" };
    const replies = await lab.storage.renew([
      { lease: strange, consumed: 0 },
      { lease: two.lease, consumed: 2 },
      { lease: one.lease, consumed: 2 },
    ]);
    assert.deepEqual(
      replies.map((reply) => (reply.is === "held" ? reply.end : reply.is)),
      ["fenced", two.position, one.position],
    );
    assert.equal((await one.meta()).consumed, 2);
    assert.equal((await three.meta()).consumed, 0);
  });

  releases(open);
  ears(open);
}

function releases(open: OpenStore): void {
  test("a release to rest ends the lease; nothing waits", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.interrupted();
    const { leased, consumed, begun } = await task.meta();
    assert.deepEqual({ leased, consumed, begun }, { leased: false, consumed: 2, begun: false });
    assert.deepEqual(await lab.takeAll(), []);
    await assertRefused(task, "FENCED", () => task.append([chunk()]));
  });

  test("a release to rest is refused PENDING while a command lies after `consumed`", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await task.followUp();
    await assertRefused(task, "PENDING", () => lab.storage.release(task.lease, "rest", 2));
    await task.append([chunk()], { consumed: 5 });
  });

  test("a release to ready is never refused PENDING, counts no attempt and keeps what was begun", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    await task.command("message");
    await lab.storage.release(task.lease, "ready", 2);
    await task.take();
    const { attempts, epoch, begun, consumed } = await task.meta();
    assert.deepEqual({ attempts, epoch, begun, consumed }, { attempts: 1, epoch: 2, begun: true, consumed: 2 });
  });

  test("a repeated release is no second one, and a released lease is worth nothing", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await lab.storage.release(task.lease, "ready", 0);
    await lab.storage.release(task.lease, "ready", 0);
    await assertRefused(task, "FENCED", () => task.append([chunk()]));
    const old = task.lease;
    await task.take();
    await lab.storage.release(old, "ready", 0);
    await task.append([chunk()]);
    assert.equal((await task.meta()).leased, true);
    assert.deepEqual(await lab.takeAll(), []);
  });

  test("a task that is not at rest is owned or waits, even where its owner releases it to rest", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, consumed: 2 });
    await lab.storage.release(task.lease, "rest", 2).catch(() => undefined);
    const { leased } = await task.meta();
    assert.ok(leased || (await lab.takeAll()).includes(task.id));
  });
}

function ears(open: OpenStore): void {
  test("a replica hears of tasks that became ready, until it stops listening", async () => {
    await using lab = await Lab.open(open);
    const heard: Hint[] = [];
    const told = Promise.withResolvers<void>();
    const ear = lab.storage.listen("r1", (hint) => {
      heard.push(hint);
      if (hint.is === "ready") told.resolve();
    });
    await ear.ready;
    await lab.begin();
    await told.promise;
    assert.ok(heard.some(({ is }) => is === "ready"));
    ear[Symbol.dispose]();
    heard.length = 0;
    await lab.begin();
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(heard, []);
  });

  test("the owner of a task, and nobody else, hears of its commands", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned({ lease: request("r1") });
    const strangers: Hint[] = [];
    const told = Promise.withResolvers<Hint>();
    // A store that was away for a moment says so instead: the owner renews then, and learns of it.
    using one = lab.storage.listen("r1", (hint) => hint.is !== "ready" && told.resolve(hint));
    using two = lab.storage.listen("r2", (hint) => strangers.push(hint));
    await Promise.all([one.ready, two.ready]);
    await task.command("message");
    const hint = await told.promise;
    if (hint.is !== "back") assert.deepEqual(hint, { is: "command", taskId: task.id });
    assert.ok(!strangers.some(({ is }) => is === "command"));
  });
}

async function renew(lab: Lab, { lease }: LabTask): Promise<unknown> {
  const [reply] = await lab.storage.renew([{ lease, consumed: 0 }]);
  return reply;
}
