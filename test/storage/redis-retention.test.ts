/** What a finished task leaves in Redis once its time is over: nothing. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { newMark } from "../../src/core/log-entry.ts";
import type { RepeatKey } from "../../src/core/storage.ts";
import { chunk, type Lab, request, status } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { aroundCommand } from "./around-script.ts";
import { allKeys, keysOf, openLab } from "./store-bed.ts";

const RETENTION_MS = 50;
/** Retention of a lab where a test asks for none. */
const HOUR_MS = 3_600_000;
/** More than one sweep of a shard looks at. */
const HELD = 450;
const FOLLOW_UPS = 300;
/** Two parts and a bit. */
const CHECKPOINT_BYTES = 2 * 1024 * 1024 + 10;

let server: RedisServer;
before(async () => {
  server = await redisServer();
});
after(() => server[Symbol.asyncDispose]());
beforeEach(() => server.call("FLUSHALL"));

test("a task that had all a task can have leaves no key behind: parts of checkpoints, dedupe rows, follow-ups, push configs, leases, takes", async () => {
  await using lab = await openLab(server.url, { retentionMs: RETENTION_MS, leaseMs: 2000 });
  const nothing = await allKeys(server);
  const task = await lab.owned({ repeat: repeatKey(undefined) });
  await task.append([status(TaskState.WORKING), chunk()], { state: TaskState.WORKING, consumed: 2 });
  await checkpoint(lab, task);
  await lab.storage.setPushConfig(task.id, { id: "hook", bytes: Uint8Array.of(1), most: 1 });
  await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
  await lab.storage.release(task.lease, "rest", 2);
  const asked = request();
  const { lease } = await task.followUp({ lease: asked, repeat: repeatKey(task.id) });
  assert.ok(lease !== undefined);
  task.lease = lease;
  await lab.storage.release(lease, "ready", 0);
  await task.take();
  await task.append([chunk()], { consumed: task.position.offset });
  for (let count = 0; count < 3; count += 1) await task.command("message", { repeat: repeatKey(task.id) });
  await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
  await checkpoint(lab, task);
  await task.append([status(TaskState.CANCELED)], { state: TaskState.CANCELED });
  await checkpoint(lab, task, "sealed");
  const names = (await allKeys(server)).map((name) => name.replace(/^\{test:\d\}:/, "").slice(0, 2));
  for (const kind of ["t:", "l:", "c:", "d:", "q:", "p:", "k:", "i:", "en"]) assert.ok(names.includes(kind), `${kind} is there before`);
  assert.equal(names.filter((kind) => kind === "c:").length, 3, "parts of the latest checkpoint alone");
  await expired(lab, 1);
  await noMore(lab);
  assert.deepEqual(await allKeys(server), nothing);
});

test("a follow-up adds its dedupe key without touching those before it, and all rows go with the task", async () => {
  await using lab = await openLab(server.url, { retentionMs: RETENTION_MS });
  const nothing = await allKeys(server);
  const task = await lab.owned({ repeat: repeatKey(undefined) });
  const record = async (): Promise<number> => Number(await server.call("HSTRLEN", keysOf(task.id).task(task.id), "dk"));
  const first = await record();
  const repeats = Array.from({ length: FOLLOW_UPS }, () => repeatKey(task.id));
  for (const repeat of repeats) await task.command("message", { repeat });
  assert.equal(await record(), first);
  assert.equal(await server.call("SCARD", keysOf(task.id).followUps(task.id)), FOLLOW_UPS);
  const again = await lab.storage.command(task.commandRequest("message", { repeat: repeats[0] }));
  assert.deepEqual(again, { is: "repeat", repeat: { taskId: task.id, offset: 3 } });
  await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: task.position.offset });
  await expired(lab, 1);
  assert.deepEqual(await allKeys(server), nothing);
});

test("many interrupted tasks whose turns are alive do not hold up what is over", async () => {
  const times = { retentionMs: RETENTION_MS, interruptedRetentionMs: RETENTION_MS };
  await using lab = await openLab(server.url, { ...times, shards: 1 });
  const held = await Promise.all(Array.from({ length: HELD }, () => lab.owned()));
  const interrupted = { state: TaskState.INPUT_REQUIRED, consumed: 2 };
  await Promise.all(held.map((task) => task.append([status(TaskState.INPUT_REQUIRED)], interrupted)));
  await lab.pass(RETENTION_MS);
  const over = await Promise.all(Array.from({ length: 30 }, () => lab.owned()));
  await Promise.all(over.map((task) => task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 })));
  await lab.pass(2 * RETENTION_MS);
  let removed = 0;
  // As many rounds as it takes to pass them all once.
  for (let round = 0; round < 3; round += 1) {
    const swept = await lab.storage.sweep();
    assert.deepEqual(swept.abandoned, []);
    removed += swept.removed;
  }
  assert.equal(removed, over.length);
  for (const task of held) assert.equal((await task.meta()).state, TaskState.INPUT_REQUIRED);
});

test("a task that ends while a sweep finds it alive stays for its whole time", async (t) => {
  await using lab = await openLab(server.url, { interruptedRetentionMs: 1 });
  const task = await lab.owned();
  await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
  await lab.pass(10);
  let ends = 0;
  aroundCommand(t, "ZADD", async (send) => {
    ends += 1;
    await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    return send();
  });
  await lab.storage.sweep();
  assert.equal(ends, 1);
  const stays = Number(await server.call("ZSCORE", keysOf(task.id).end, task.id)) - Date.now();
  assert.ok(stays > HOUR_MS / 2, `${stays} ms`);
});

test("tasks that went side by side with others leave those alone, whatever scope, context and state they had", async () => {
  await using lab = await openLab(server.url, { retentionMs: RETENTION_MS });
  const stays = await Promise.all([lab.owned(), lab.interrupted(), lab.begin(), lab.interrupted({ contextId: "other" })]);
  const standing = await allKeys(server);
  const scopes = [
    { tenant: "", owner: "anonymous" },
    { tenant: "t", owner: "o" },
  ];
  const goes = await Promise.all(
    scopes.flatMap((scope) => ["context", "c:s1"].map((contextId) => lab.owned({ scope, contextId, repeat: repeatKey(undefined) }))),
  );
  const ends = [TaskState.COMPLETED, TaskState.FAILED, TaskState.REJECTED, TaskState.CANCELED];
  await Promise.all(
    goes.map((task, index) => task.append([status(ends[index] ?? 0)], { state: ends[index] ?? TaskState.COMPLETED, consumed: 2 })),
  );
  await expired(lab, goes.length);
  assert.deepEqual(await allKeys(server), standing);
  for (const task of stays) assert.ok((await task.entries()).length >= 2);
});

test("a dedupe row that another task has taken over stays with it", async () => {
  await using lab = await openLab(server.url, { retentionMs: RETENTION_MS });
  const repeat = { ...repeatKey(undefined), windowMs: 0 };
  const first = await lab.owned({ repeat });
  const second = await lab.owned({ repeat });
  await first.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
  await expired(lab, 1);
  assert.deepEqual(await lab.storage.findRepeat({ ...repeat, windowMs: 60_000 }), { taskId: second.id, offset: 2 });
});

test("parts of a checkpoint whose pointer was never switched go by themselves", async () => {
  await using proxy = await TcpProxy.open(server);
  await using lab = await openLab(proxy.url, { commandTimeoutMs: 300 });
  const task = await lab.owned();
  const parts = async (): Promise<string[]> => (await allKeys(server)).filter((name) => name.includes(":c:"));
  // The writer is cut off after its first part.
  proxy.dropNextReply({ match: (bytes) => bytes.includes(":c:") }).then(
    () => proxy.refuse(),
    () => undefined,
  );
  await assert.rejects(checkpoint(lab, task));
  const orphans = await parts();
  assert.ok(orphans.length > 0);
  for (const name of orphans) assert.ok(Number(await server.call("PTTL", name)) > 0);
  await proxy.heal();
  // Those that the record points to stay.
  await using other = await openLab(server.url);
  await checkpoint(other, task);
  const kept = (await parts()).filter((name) => !orphans.includes(name));
  assert.equal(kept.length, 3);
  for (const name of kept) assert.equal(await server.call("PTTL", name), -1);
});

function repeatKey(taskId: string | undefined): RepeatKey {
  return { key: newMark() + newMark(), taskId, mode: "window", windowMs: 60_000 };
}

async function checkpoint({ storage }: Lab, task: Awaited<ReturnType<Lab["owned"]>>, how: "owned" | "sealed" = "owned"): Promise<void> {
  const { id, position, lease } = task;
  await storage.checkpoint(id, how === "owned" ? lease : undefined, { position, bytes: Buffer.alloc(CHECKPOINT_BYTES, 1) });
}

/** Sweeps until so many tasks are removed. */
async function expired(lab: Lab, count: number): Promise<void> {
  let removed = 0;
  while (removed < count) {
    await lab.pass(10);
    const swept = await lab.storage.sweep();
    removed += swept.removed;
  }
  assert.equal(removed, count);
}

/** What a take was given is remembered for the time of a lease. */
async function noMore(lab: Lab): Promise<void> {
  while ((await allKeys(server)).some((name) => name.includes(":k:"))) await lab.pass(10);
}
