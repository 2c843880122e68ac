/** What readers share on one replica: who comes while another one's attempt has failed or is being given up still hears everything. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { START } from "../../src/core/log-entry.ts";
import type { TailStep } from "../../src/core/storage.ts";
import { chunk, LabTask, status } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { savepoint } from "../redis/savepoint.ts";
import { openLab, storedLog } from "./store-bed.ts";

/** Longer than a subscription outlives its last reader. */
const LEFT_MS = 1100;
/** As long as a task that began here may be followed without a subscription. */
const ALONE_MS = 250;
/** Longer than a call is tried again. */
const GIVEN_UP_MS = 700;

test("a reader that comes while the subscription of an earlier one is given up is not given up with it", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using lab = await openLab(proxy.url, { commandTimeoutMs: 10_000 });
  await using other = await openLab(server.url);
  const created = await other.owned();
  const task = new LabTask(other.storage, created.id, created.position, created.lease, created.statusTime);
  proxy.pauseReplies();
  const early = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const unanswered = early.next();
  await early.return?.();
  await delay(LEFT_MS);
  const late = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const waiting = late.next();
  await delay(GIVEN_UP_MS);
  proxy.cut();
  proxy.resumeReplies();
  await unanswered;
  for (let count = 0; count < 3; count += 1) await task.append([chunk()]);
  const step = await waiting;
  assert.ok(step.done !== true && step.value.is === "entries");
  let seen = step.value.entries.at(-1)?.offset ?? 0;
  while (seen < task.position.offset) {
    const next = await late.next();
    assert.ok(next.done !== true && next.value.is === "entries");
    seen = next.value.entries.at(-1)?.offset ?? 0;
  }
  const after = late.next();
  const [appended] = await task.append([chunk()]);
  const last = await after;
  assert.ok(last.done !== true && last.value.is === "entries");
  assert.equal(last.value.entries[0]?.mark, appended?.mark);
  await late.return?.();
});

test("readers whose channels are lost again and again, and entries too large for a message, miss nothing and see nothing twice", async () => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  await using other = await openLab(server.url);
  const task = await other.owned();
  const { signal } = new AbortController();
  const readers = Array.from({ length: 8 }, (_, index) =>
    marksOf(lab.storage.tail(task.id, index % 2 === 0 ? START : task.position, signal)),
  );
  for (let count = 0; count < 400; count += 1) {
    if (count % 10 === 5) await server.call("CLIENT", "KILL", "TYPE", "pubsub");
    const large = count % 7 === 0 ? "x".repeat(20_000) : "small";
    await task.append([chunk(large), ...(count % 3 === 0 ? [chunk(), chunk()] : [])]);
  }
  await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED });
  const log = (await storedLog(server, task.id)).map(({ mark }) => mark);
  for (const [index, marks] of (await Promise.all(readers)).entries()) assert.deepEqual(marks, index % 2 === 0 ? log : log.slice(2));
});

test("entries of which no message ever told are found by the probe", { skip: process.env["LONG_TESTS"] === undefined }, async () => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  const earlier = await savepoint(server);
  const start = task.position;
  const appended = await task.append([chunk()]);
  const later = await savepoint(server);
  await earlier.restore();
  await using reader = await openLab(server.url);
  const tail = reader.storage.tail(task.id, start, AbortSignal.timeout(60_000));
  const waiting = tail.next();
  await delay(LEFT_MS);
  await later.restore();
  const step = await waiting;
  assert.ok(step.done !== true && step.value.is === "entries");
  assert.deepEqual(
    step.value.entries.map(({ mark }) => mark),
    appended.map(({ mark }) => mark),
  );
  await tail.return?.();
});

test("who follows a task whose lease was given back hears at once what others append to it", async () => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const took: number[] = [];
  // Every one of them would take as long as a task is followed without a subscription; a busy machine slows some.
  for (let count = 0; count < 20; count += 1) {
    const began = performance.now();
    const task = await lab.interrupted();
    const tail = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
    const next = tail.next();
    await task.command("cancel", { canceled: task.ready(TaskState.CANCELED) });
    const step = await next;
    assert.ok(step.done !== true && step.value.is === "entries");
    took.push(performance.now() - began);
    await tail.return?.();
  }
  assert.ok(Math.min(...took) < ALONE_MS / 2, `the fastest took ${Math.min(...took)} ms`);
});

async function marksOf(tail: AsyncIterable<TailStep>): Promise<string[]> {
  const marks: string[] = [];
  for await (const step of tail) {
    assert.ok(step.is === "entries");
    marks.push(...step.entries.map(({ mark }) => mark));
  }
  return marks;
}

test("a tail of a store that was closed ends, waiting or not", async () => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const task = await lab.owned();
  const signal = new AbortController().signal;
  const [waiting, later] = [lab.storage.tail(task.id, task.position, signal), lab.storage.tail(task.id, task.position, signal)];
  const next = waiting.next();
  await lab.storage.close();
  assert.equal((await next).done, true);
  assert.equal((await later.next()).done, true);
});
