/** What a finished task leaves in Redis once its time is over: nothing. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { newMark } from "../../src/core/log-entry.ts";
import type { RepeatKey } from "../../src/core/storage.ts";
import { chunk, type Lab, request, status } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { allKeys, openLab } from "./store-bed.ts";

const RETENTION_MS = 50;
/** Two parts and a bit. */
const CHECKPOINT_BYTES = 2 * 1024 * 1024 + 10;

let server: RedisServer;
before(async () => {
  server = await redisServer();
});
after(() => server[Symbol.asyncDispose]());
beforeEach(() => server.call("FLUSHALL"));

test("a task that had all a task can have leaves no key behind: parts of checkpoints, dedupe rows, follow-ups, leases, takes", async () => {
  await using lab = await openLab(server.url, { retentionMs: RETENTION_MS, leaseMs: 200 });
  const nothing = await allKeys(server);
  const task = await lab.owned({ repeat: repeatKey(undefined) });
  await task.append([status(TaskState.WORKING), chunk()], { state: TaskState.WORKING, consumed: 2 });
  await checkpoint(lab, task);
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
  for (const kind of ["t:", "l:", "c:", "d:", "k:", "i:", "en"]) assert.ok(names.includes(kind), `${kind} is there before`);
  assert.equal(names.filter((kind) => kind === "c:").length, 3, "parts of the latest checkpoint alone");
  await expired(lab, 1);
  await noMore(lab);
  assert.deepEqual(await allKeys(server), nothing);
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
