/** A store of this version beside one of a newer version: what it cannot read it leaves alone, and says so. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isNewer, READS, WRITES } from "../../src/core/format.ts";
import { newMark, type NewEntry, START } from "../../src/core/log-entry.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import { chunk, type Lab, type LabTask, SCOPE, status } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { appendNewer } from "./newer-format.ts";
import { keysOf, openLab, storedLog } from "./store-bed.ts";

let server: RedisServer;
before(async () => {
  server = await redisServer();
});
after(() => server[Symbol.asyncDispose]());

const snapshotsOf = ({ storage }: Lab): Snapshots => new Snapshots(storage, { cacheBytes: 1e6, historyLimit: 100 });
const WEBHOOK = { id: "a", bytes: new TextEncoder().encode("a"), most: 10 };

test("every entry and every record says in which format it is stored", async () => {
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  await task.append([chunk()]);
  const stored = (await server.call("XRANGE", keysOf(task.id).log(task.id), "-", "+")) as [string, string[]][];
  for (const [, [, header = ""]] of stored) assert.match(header, new RegExp(`^[ecm][0-9a-f]{8} \\d+ \\d+ ${WRITES} \\d+$`));
  assert.equal((await task.meta()).format, WRITES);
  assert.ok(WRITES <= READS);
  for (const entry of await storedLog(server, task.id)) assert.equal(entry.format, WRITES);
});

test("a log and a record of before formats were written are of the first one", async () => {
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  const { log, task: record } = { log: keysOf(task.id).log(task.id), task: keysOf(task.id).task(task.id) };
  const stored = (await server.call("XRANGE", log, "-", "+")) as [string, [string, string, string, string]][];
  await server.call("DEL", log);
  for (const [id, [, header, , bytes]] of stored) await server.call("XADD", log, id, "h", header.replace(/ \d+ (\d+)$/, " $1"), "b", bytes);
  await server.call("HDEL", record, "fv");
  assert.equal((await task.meta()).format, 1);
  const step = await lab.storage.read(task.id, START);
  assert.ok(step.is === "entries");
  assert.deepEqual(
    step.entries.map(({ format, epoch, kind }) => [format, epoch, kind]),
    [
      [1, 1, "event"],
      [1, 1, "command"],
    ],
  );
  await task.append([chunk()]);
  assert.equal((await snapshotsOf(lab).read(task.id)).position.offset, 3);
});

test("readers get what comes before an entry of a newer format, and then hear that a newer version has to be asked", async () => {
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  const task = await other.owned();
  const tail = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const first = tail.next();
  const [appended] = await task.append([chunk()]);
  const step = await first;
  assert.ok(step.done !== true && step.value.is === "entries");
  assert.deepEqual(
    step.value.entries.map(({ mark }) => mark),
    [appended?.mark],
  );
  const waiting = tail.next();
  await appendNewer(server, task.id);
  await assert.rejects(waiting, isNewer);
  assert.deepEqual(await tail.next(), { done: true, value: undefined });
  // One that is behind, beside one that waits at the end.
  const late = lab.storage.tail(task.id, START, AbortSignal.timeout(20_000));
  const page = await late.next();
  assert.ok(page.done !== true && page.value.is === "entries");
  assert.equal(page.value.entries.at(-1)?.mark, appended?.mark);
  await assert.rejects(late.next(), isNewer);
});

test("a reader that is behind while the entry comes hears of it too, and does not wait", async () => {
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  const task = await other.owned();
  const ahead = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const behind = lab.storage.tail(task.id, START, AbortSignal.timeout(20_000));
  const waiting = ahead.next();
  const page = await behind.next();
  assert.ok(page.done !== true && page.value.is === "entries");
  await task.append([chunk()]);
  await waiting;
  const last = ahead.next();
  await appendNewer(server, task.id);
  await assert.rejects(last, isNewer);
  const next = await behind.next();
  assert.ok(next.done !== true && next.value.is === "entries");
  await assert.rejects(behind.next(), isNewer);
});

test("a task is told of as written by a newer version only to whom it belongs", async () => {
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  const snapshots = snapshotsOf(lab);
  await snapshots.read(task.id);
  await appendNewer(server, task.id);
  await assert.rejects(snapshots.current(task.id, SCOPE), isNewer);
  await assert.rejects(lab.storage.checkpointOf(task.id), isNewer);
  assert.equal(await snapshots.current(task.id, { ...SCOPE, owner: "somebody else" }), undefined);
  const { rows } = await lab.storage.list(SCOPE, { contextId: undefined, state: undefined, since: undefined }, undefined, 100);
  assert.ok(
    rows.some(({ id }) => id === task.id),
    "its head is A2A's own in every format",
  );
});

test("waiting tasks of a newer version are not taken, however many they are, and nobody else waits behind them", async () => {
  await using lab = await openLab(server.url, { prefix: "many" });
  const ids: string[] = [];
  for (let count = 0; count < 70; count += 1) ids.push((await lab.begin()).id);
  for (const id of ids) await server.call("HSET", key(id), "fv", READS + 1);
  const readable = new Set<string>();
  for (let count = 0; count < 5; count += 1) readable.add((await lab.begin()).id);
  const got = new Set<string>();
  for (let round = 0; round < 40 && got.size < readable.size; round += 1) {
    for (const { lease } of await lab.storage.take({ token: newMark(), replica: "r" }, 2)) got.add(lease.taskId);
  }
  assert.deepEqual(got, readable);
  assert.deepEqual(await lab.storage.take({ token: newMark(), replica: "r" }, 100), []);
  for (const id of ids) await server.call("HDEL", key(id), "fv");
  // A replica of the newer version, which knows of no such tasks.
  await using newer = await openLab(server.url, { prefix: "many" });
  assert.equal((await newer.storage.take({ token: newMark(), replica: "n" }, 100)).length, ids.length);

  function key(id: string): string {
    return keysOf(id).task(id).replace("{test:", "{many:");
  }
});

test("deliveries of a task of a newer version are not claimed, and nobody else waits behind them", async () => {
  await using lab = await openLab(server.url, { prefix: "due" });
  const ids: string[] = [];
  for (let count = 0; count < 20; count += 1) {
    const creation = { ...lab.creation(), push: WEBHOOK };
    await lab.storage.create(creation);
    ids.push(creation.id);
  }
  const [readable = "", ...newer] = ids.toReversed();
  for (const id of newer) await server.call("HSET", keysOf(id).task(id).replace("{test:", "{due:"), "fv", READS + 1);
  const claimed: string[] = [];
  for (let round = 0; round < 40 && claimed.length === 0; round += 1) {
    // As a sweep does: something is due.
    await lab.storage.sweep();
    claimed.push(...(await lab.storage.claimDeliveries(newMark(), 2)).map(({ taskId }) => taskId));
  }
  assert.deepEqual(claimed, [readable]);
});

test("finished tasks of a newer version are removed by it alone", async () => {
  await using lab = await openLab(server.url, { prefix: "test", retentionMs: 1 });
  const [mine, theirs] = [await ended(lab), await ended(lab)];
  await server.call("HSET", keysOf(theirs.id).task(theirs.id), "fv", READS + 1);
  await lab.pass(20);
  await lab.storage.sweep();
  assert.equal(await lab.storage.meta(mine.id), undefined);
  assert.equal((await lab.storage.meta(theirs.id))?.format, READS + 1);
  await lab.storage.sweep();
  assert.ok((await lab.storage.meta(theirs.id)) !== undefined);
});

test("the format of a record never goes back when a version that knows less appends", async () => {
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  await server.call("HSET", keysOf(task.id).task(task.id), "fv", READS + 1);
  await task.append([chunk()]);
  await task.command("cancel");
  assert.equal((await task.meta()).format, READS + 1);
});

test("fields that a known format has in addition are kept, and nobody is disturbed by them", async () => {
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  const known = chunk("known");
  // Field 1000 of a later A2A, a varint.
  const entry: NewEntry = { kind: "event", mark: newMark(), bytes: Buffer.concat([known.bytes, Buffer.from([0xc0, 0x3e, 0x07])]) };
  await task.append([entry]);
  const stored = await storedLog(server, task.id);
  assert.deepEqual(Buffer.from(stored.at(-1)?.bytes ?? []), Buffer.from(entry.bytes));
  const { task: folded } = await snapshotsOf(lab).read(task.id);
  assert.equal(folded.artifacts[0]?.parts[0]?.content.value, "known");
  assert.deepEqual(toJson(TaskSchema, folded), toJson(TaskSchema, fromBinary(TaskSchema, toBinary(TaskSchema, folded))));
});

async function ended(lab: Lab): Promise<LabTask> {
  const task = await lab.owned();
  await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED });
  return task;
}
