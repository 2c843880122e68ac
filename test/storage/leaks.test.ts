/** What 10,000 readers that have left leave behind: nothing. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { Follower } from "../../src/core/follow.ts";
import { Feed } from "../../src/storage/redis/feed.ts";
import { RedisTail } from "../../src/storage/redis/redis-tail.ts";
import { chunk } from "../../src/testing/contract/lab.ts";
import { openBed, send } from "../bindings/bed.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { allChannels, allKeys, openLab } from "./store-bed.ts";

const TAILS = 10_000;
/** With LONG_TESTS as many as of tails: they cost 5 ms each. */
const SUBSCRIPTIONS = process.env["LONG_TESTS"] === undefined ? 1000 : 10_000;
const TASKS = 100;
const TOGETHER = 500;
/** A little longer than a channel outlives its last reader. */
const LINGER_MS = 1200;
const WITHIN_MS = 60_000;

test("10,000 tails that came and left leave no listener, channel, timer, connection or key behind", async (t) => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const tasks = await Promise.all(Array.from({ length: TASKS }, () => lab.owned()));
  // The connection for channels is made at the first subscription, and stays.
  const { signal } = new AbortController();
  await quiet(server, 0);
  await readAndLeave(lab.storage.tail(tasks[0]?.id ?? "", { offset: 0, mark: "" }, signal));
  await quiet(server, 0);
  const before = await remains(server);
  const held = timers();
  for (let at = 0; at < TAILS; at += TOGETHER) {
    const reading = Array.from({ length: TOGETHER }, async (_, index) => {
      const task = tasks[(at + index) % TASKS] ?? assert.fail();
      // From the beginning, or waiting at the end; left by return, or by its signal.
      const leaves = new AbortController();
      const tail = lab.storage.tail(
        task.id,
        index % 2 === 0 ? { offset: 0, mark: "" } : task.position,
        index % 3 === 0 ? leaves.signal : signal,
      );
      if (index % 2 === 0) await readAndLeave(tail);
      else await waitAndLeave(tail, index % 3 === 0 ? leaves : undefined);
    });
    await Promise.all(reading);
  }
  assert.equal(getEventListeners(signal, "abort").length, 0);
  await quiet(server, 0);
  await readersGone();
  assert.deepEqual(await remains(server), before);
  const holds = timers();
  assert.ok(holds < held + 50, `${held} timers before, ${holds} after`);
  t.diagnostic(`${TAILS} tails over ${TASKS} tasks`);
  await tasks[0]?.append([chunk()]);
});

test(`SV-06 ${SUBSCRIPTIONS} subscriptions that were opened and dropped over the service leave no channel, timer, connection to Redis or key behind`, async (t) => {
  await using server = await redisServer();
  const agent = new ScenarioAgent();
  await using bed = await openBed({ redis: { url: server.url, shards: 4 } }, agent);
  const { rest, jsonRpc } = bed;
  const gate = agent.gate();
  const ids = await Promise.all(
    Array.from({ length: TASKS }, async () => {
      const { message } = await bed.grpc.unary("SendMessage", send(`slow ${gate.name}`, { configuration: { returnImmediately: true } }));
      return (message["task"] as { id: string }).id;
    }),
  );
  await until("every turn has begun", WITHIN_MS, async () =>
    (await states(bed.grpc, ids)).every((state) => state === "TASK_STATE_WORKING"),
  );
  const standing = (await allChannels(server)).length;
  await subscribeAndLeave(bed.callers, ids.slice(0, 3));
  await quiet(server, standing);
  const before = await remains(server);
  const held = timers();
  for (let at = 0; at < SUBSCRIPTIONS; at += TOGETHER) {
    // A connection on which streams are reset all the time is closed by HTTP/2 itself.
    const grpc = new GrpcCaller(bed.server.ports.grpc, { "grpc.use_local_subchannel_pool": 1 });
    await subscribeAndLeave(
      [grpc, rest, jsonRpc],
      Array.from({ length: TOGETHER }, (_, index) => ids[(at + index) % TASKS] ?? assert.fail()),
    );
    grpc.close();
  }
  await quiet(server, standing);
  await readersGone();
  assert.deepEqual(await remains(server), before);
  const holds = timers();
  assert.ok(holds < held + 50, `${held} timers before, ${holds} after`);
  t.diagnostic(`${SUBSCRIPTIONS} subscriptions over three bindings and ${TASKS} tasks`);
  gate.open(TASKS);
  await until("every turn has ended", WITHIN_MS, async () =>
    (await states(bed.grpc, ids)).every((state) => state === "TASK_STATE_COMPLETED"),
  );
});

type Tail = AsyncIterator<unknown>;

async function readAndLeave(tail: Tail): Promise<void> {
  assert.notEqual((await tail.next()).done, true);
  await tail.return?.();
}

async function waitAndLeave(tail: Tail, leaves: AbortController | undefined): Promise<void> {
  const waiting = tail.next();
  // Some leave before they are subscribed, some after.
  if (Math.random() < 0.5) await delay(Math.random() * 5);
  leaves?.abort();
  if (leaves === undefined) await tail.return?.();
  assert.equal((await waiting).done, true);
}

/** Opens a subscription for each id, reads its first frame and drops the connection. */
async function subscribeAndLeave(callers: readonly Caller[], ids: readonly string[]): Promise<void> {
  const leaving = ids.map(async (id, index) => {
    const stream = callers[index % callers.length]?.stream("SubscribeToTask", { id }) ?? assert.fail();
    assert.notEqual((await stream.next()).done, true);
    stream.leave();
    // How a stream that its own reader has dropped ends is the client's affair.
    await stream.next().catch(() => undefined);
  });
  await Promise.all(leaving);
}

async function states(caller: Caller, ids: readonly string[]): Promise<unknown[]> {
  const replies = await Promise.all(ids.map((id) => caller.unary("GetTask", { id })));
  return replies.map(({ message }) => (message["status"] as { state: string }).state);
}

/** Resolves when nobody listens on more channels than those that a replica always listens on. */
async function quiet(server: RedisServer, standing: number): Promise<void> {
  await until("the channels are left", WITHIN_MS, async () => (await allChannels(server)).length <= standing);
  // A task that begins here is followed for a moment without a channel.
  await delay(LINGER_MS);
}

/** Resolves when nothing is held any more of what readers are made of; each count is a full collection, and slow. */
async function readersGone(): Promise<void> {
  await until("the readers are gone", WITHIN_MS, async () => {
    await delay(LINGER_MS);
    return [RedisTail, Feed, Follower].every((kind) => queryObjects(kind, { format: "count" }) === 0);
  });
}

/** What else could be left: keys, channels and connections. */
async function remains(server: RedisServer): Promise<object> {
  const clients = /connected_clients:(\d+)/.exec(String(await server.call("INFO", "clients")))?.[1];
  return { clients, keys: (await allKeys(server)).length, channels: await allChannels(server) };
}

/** Timers that are still held, those too that do not keep the process alive; a few come and go with commands and connections. */
function timers(): number {
  const one = setTimeout(() => undefined, 0);
  clearTimeout(one);
  return queryObjects(one.constructor, { format: "count" });
}
