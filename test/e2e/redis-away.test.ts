/** Redis is gone for a while and comes back: callers are told at once, nobody loses anything, nobody is taken over. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "../bindings/bed.ts";
import { CallFailed, type Caller, type Stream } from "../bindings/callers/caller.ts";
import { HttpClient } from "../bindings/callers/http.ts";
import { logHeaders } from "../chaos/position.ts";
import { redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { assertPromises, recordOf } from "./replica.ts";
import { ReplicaProcess } from "./replica-process.ts";
import { firstOf, follow } from "./seen.ts";

/** With LONG_TESTS=1 Redis is gone for as long as the promise says. */
const AWAY_MS = process.env["LONG_TESTS"] === undefined ? 6000 : 30_000;
/** Far shorter than Redis is away. */
const LEASE = { "lease-ms": 1500, "renew-ms": 400, "sweep-ms": 200, "readiness-grace-ms": 1000 } as const;
const WITHIN_MS = 30_000;
const RSS_GROWTH = 200 * 1024 * 1024;

test(`Redis gone for ${AWAY_MS / 1000} s: calls fail at once, streams and turns go on after it, nothing is lost, nobody is taken over`, async (t) => {
  await using redis = await redisServer({ appendonly: "always" });
  await using home = await ReplicaProcess.start(redis.url, "home", LEASE);
  await using away = await ReplicaProcess.start(redis.url, "away", LEASE);
  const replicas = [home, away];
  const pairs = home.callers.flatMap((caller, index) => {
    const other = away.callers[index] ?? assert.fail();
    return [
      { caller, other },
      { caller: other, other: caller },
    ];
  });
  // Turns that run all the time, each with a reader beside it and one elsewhere.
  const running = await Promise.all(
    pairs.map(async ({ caller, other }) => {
      const own = caller.stream("SendStreamingMessage", send("ticks 240 25"), { headers: logHeaders() });
      const first = await firstOf(own);
      const elsewhere = other.stream("SubscribeToTask", { id: first.taskId }, { headers: logHeaders() });
      return [follow(own, first), follow(elsewhere, await firstOf(elsewhere))] as const;
    }),
  );
  const acknowledged: string[] = [];
  const sending = new AbortController();
  const senders = pairs.map(({ caller }) => sendUntilGone(caller, acknowledged, sending.signal));
  await until("there are tasks that have ended", WITHIN_MS, async () => acknowledged.length > 50);
  const rss = replicas.map(rssOf);

  await redis.shutdown();
  const gone = performance.now();
  await Promise.all(senders);
  const took: number[] = [];
  const ready: Promise<number[]>[] = [];
  const growth: number[] = [];
  while (performance.now() - gone < AWAY_MS) {
    took.push(...(await Promise.all(pairs.flatMap(({ caller }) => refusals(caller, acknowledged[0] ?? "")))));
    ready.push(readiness(replicas));
    growth.push(...replicas.map((replica, index) => rssOf(replica) - (rss[index] ?? 0)));
    await delay(100);
  }
  assert.deepEqual(
    replicas.map(({ running: runs }) => runs),
    [true, true],
  );
  await redis.start();
  const back = performance.now();

  const followers = (await Promise.all(running.flat())).flat();
  const finished = performance.now() - back;
  await until("the replicas are ready again", WITHIN_MS, async () => (await readiness(replicas)).every((code) => code === 200));
  report(t, { took, growth, finished, acknowledged: acknowledged.length });
  assert.ok((await ready.at(-1))?.every((code) => code === 503));
  assert.ok((took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Infinity) < 1000);
  assert.ok(Math.max(...growth) < RSS_GROWTH);
  const ids = [...new Set([...followers.map(({ taskId }) => taskId), ...acknowledged])];
  // What was acknowledged at the last moment may still run.
  await until("every task has ended", WITHIN_MS, async () => {
    const states = await Promise.all(ids.map((id) => home.grpc.unary("GetTask", { id })));
    return states.every(({ message }) => (message["status"] as { state: string }).state === "TASK_STATE_COMPLETED");
  });
  const records = await Promise.all(ids.map((id) => recordOf(redis, away.grpc, id)));
  assertPromises(records, followers);
  for (const { taskId, entries } of records) {
    assert.ok(
      entries.every(({ epoch }) => epoch === 1),
      `${taskId} was not taken over`,
    );
  }
  const parts = followers.map(({ taskId }) => records.find((record) => record.taskId === taskId)?.task.artifacts[0]?.parts.length);
  assert.ok(parts.every((count) => count === 240));
});

/** Sends tasks that end at once, until the store is away; what was answered is kept. */
async function sendUntilGone(caller: Caller, acknowledged: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const { message } = await caller.unary("SendMessage", send("ticks 1 0", { configuration: { returnImmediately: true } }));
      acknowledged.push((message["task"] as { id: string }).id);
    } catch (error) {
      assertAway(caller, error);
      return;
    }
  }
}

/** How long each kind of call takes to fail. */
function refusals(caller: Caller, id: string): Promise<number>[] {
  const calls: readonly (() => Promise<unknown>)[] = [
    () => caller.unary("SendMessage", send("ticks 1 0", { configuration: { returnImmediately: true } })),
    () => caller.unary("GetTask", { id }),
    () => caller.unary("ListTasks"),
    () => caller.unary("CancelTask", { id }),
    () => begun(caller.stream("SendStreamingMessage", send("ticks 1 0"))),
    () => begun(caller.stream("SubscribeToTask", { id })),
  ];
  return calls.map(async (call) => {
    const began = performance.now();
    await assert.rejects(call, (error) => assertAway(caller, error));
    return performance.now() - began;
  });
}

async function begun(stream: Stream): Promise<void> {
  await stream.next();
}

function assertAway({ binding }: Caller, error: unknown): true {
  assert.ok(error instanceof CallFailed, String(error));
  const { reason, code, httpStatus } = error.failure;
  assert.equal(reason, "STORE_UNAVAILABLE");
  if (binding === "grpc") assert.equal(code, 14);
  else assert.deepEqual([httpStatus, error.headers.get("retry-after")], [503, "1"]);
  return true;
}

/** What each replica says of its readiness. */
async function readiness(replicas: readonly ReplicaProcess[]): Promise<number[]> {
  return Promise.all(
    replicas.map(async ({ server }) => {
      const client = new HttpClient(server.ports.ops);
      const { status } = await client.fetch({ method: "GET", target: "/readyz" });
      client.close();
      return status;
    }),
  );
}

/** Resident bytes of the process. */
function rssOf({ server }: ReplicaProcess): number {
  const status = readFileSync(`/proc/${server.process.child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

function report(t: TestContext, figures: { took: number[]; growth: number[]; finished: number; acknowledged: number }): void {
  const took = figures.took.toSorted((a, b) => a - b);
  const at = (share: number): string => `${Math.round(took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0)} ms`;
  t.diagnostic(`${took.length} calls refused: p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`);
  t.diagnostic(`memory: at most ${Math.round(Math.max(...figures.growth) / 1024 / 1024)} MiB more than before`);
  t.diagnostic(
    `${figures.acknowledged} tasks acknowledged before; all streams at their end ${Math.round(figures.finished)} ms after it came back`,
  );
}
