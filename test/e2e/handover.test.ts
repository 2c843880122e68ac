/** A turn changes its replica: after a crash, in a drain, and while its old owner only stood still. With the times that it takes. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import type { FollowerRecord } from "../../src/testing/index.ts";
import { send } from "../bindings/bed.ts";
import { logHeaders } from "../chaos/position.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { keysOf, storedLog } from "../storage/store-bed.ts";
import { assertPromises, recordOf } from "./replica.ts";
import { ReplicaProcess } from "./replica-process.ts";
import { asFarAsItGoes, firstOf, follow } from "./seen.ts";

const LEASE_MS = 1500;
const LEASE = { "lease-ms": LEASE_MS, "renew-ms": 400, "sweep-ms": 100 } as const;
const WITHIN_MS = 30_000;
const TASKS = 12;

let redis: RedisServer;
let other: ReplicaProcess;
before(async () => {
  redis = await redisServer();
  other = await ReplicaProcess.start(redis.url, "other", LEASE);
});
after(async () => {
  await other[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

test("P-4 P-50 after SIGKILL another replica goes on with every turn once the lease is over", async (t) => {
  await using home = await ReplicaProcess.start(redis.url, "home", LEASE);
  const turns = await begin(home, 200);
  const killed = Date.now();
  home.signal("SIGKILL");
  const logs = await toTheEnd(turns);
  const times = logs.map((log) => firstOfNext(log) - killed);
  report(t, "first event of the next owner after SIGKILL", times);
  // A second is what a sweep, a take and the reading of a log may need; the rest is room for a busy machine.
  assert.ok(median(times) < LEASE_MS + 3000);
});

test("a drain hands every turn over to another replica at once", async (t) => {
  await using home = await ReplicaProcess.start(redis.url, "home", LEASE);
  const turns = await begin(home, 200);
  const drained = Date.now();
  home.signal("SIGTERM");
  const logs = await toTheEnd(turns);
  const times = logs.map((log) => firstOfNext(log) - drained);
  report(t, "first event of the next owner after SIGTERM", times);
  for (const { id } of turns) {
    const [released, attempts] = (await redis.call("HMGET", keysOf(id).task(id), "rl", "at")) as string[];
    assert.deepEqual([released?.slice(0, 2), attempts], ["1 ", "1"], "given back by its first owner, which is no attempt");
  }
  // Promised is half a second; the rest is room for a busy machine.
  assert.ok(median(times) < 5000);
  assert.deepEqual(await home.server.process.exited, { code: 0, signal: null });
});

test("a replica that stood still past its leases adds nothing to the logs that others have taken over, and serves on", async (t) => {
  await using home = await ReplicaProcess.start(redis.url, "home", LEASE);
  for (let round = 0; round < 2; round += 1) {
    const turns = await begin(home, 200);
    const ids = turns.map(({ id }) => id);
    home.signal("SIGSTOP");
    await until("every turn was taken over", WITHIN_MS, async () => (await logsOf(ids)).every((log) => log.at(-1)?.epoch === 2));
    home.signal("SIGCONT");
    const logs = await toTheEnd(turns);
    t.diagnostic(`${logs.length} turns taken over, ${logs.flat().filter(({ epoch }) => epoch === 1).length} entries by the first owner`);
    // Its own readers were never told anything else than what the log says, and it runs new turns.
    const { message } = await home.grpc.unary("SendMessage", send("ticks 1 0"));
    assert.equal((message["task"] as { status: { state: string } }).status.state, "TASK_STATE_COMPLETED");
  }
});

interface Turning {
  readonly id: string;
  /** What its sender sees; where its replica goes, the stream goes too. */
  readonly own: Promise<FollowerRecord>;
  readonly elsewhere: Promise<FollowerRecord>;
}

/** Turns at work at home, each with a reader elsewhere. */
async function begin(home: ReplicaProcess, ticks: number): Promise<Turning[]> {
  const turns = await Promise.all(
    Array.from({ length: TASKS }, async (_, index) => {
      const at = index % home.callers.length;
      const own = home.callers[at]?.stream("SendStreamingMessage", send(`ticks ${ticks} 10`), { headers: logHeaders() });
      assert.ok(own !== undefined);
      const first = await firstOf(own);
      const elsewhere = other.callers[at]?.stream("SubscribeToTask", { id: first.taskId }, { headers: logHeaders() });
      assert.ok(elsewhere !== undefined);
      const record = { id: first.taskId, own: asFarAsItGoes(own, first), elsewhere: follow(elsewhere, await firstOf(elsewhere)) };
      record.elsewhere.catch(() => undefined);
      return record;
    }),
  );
  const ids = turns.map(({ id }) => id);
  await until("every turn ticks", WITHIN_MS, async () => (await logsOf(ids)).every((log) => log.length > 8));
  return turns;
}

/** Waits for the ends of the tasks; checks every promise, and that each had two owners. Answers the logs. */
async function toTheEnd(turns: readonly Turning[]): Promise<Entry[][]> {
  const elsewhere = await Promise.all(turns.map((turn) => turn.elsewhere));
  const own = await Promise.all(turns.map((turn) => turn.own));
  const records = await Promise.all(turns.map(({ id }) => recordOf(redis, other.grpc, id)));
  assertPromises(records, [...elsewhere, ...own]);
  for (const { entries, task } of records) {
    assert.deepEqual([...new Set(entries.map(({ epoch }) => epoch))], [1, 2]);
    assert.equal(task.status?.state, TaskState.COMPLETED);
    const ticks = task.artifacts[0]?.parts.map(({ content }) => content.value);
    assert.deepEqual(
      ticks,
      ticks?.map((_, tick) => `${tick} `),
      "no tick is missing, none is there twice",
    );
  }
  return Promise.all(turns.map(({ id }) => storedLog(redis, id)));
}

function logsOf(ids: readonly string[]): Promise<Entry[][]> {
  return Promise.all(ids.map((id) => storedLog(redis, id)));
}

/** When the second owner said its first word, by the clock of Redis, which is this machine's. */
function firstOfNext(log: readonly Entry[]): number {
  return log.find(({ epoch }) => epoch === 2)?.time ?? assert.fail();
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Infinity;
}

function report(t: TestContext, what: string, times: readonly number[]): void {
  t.diagnostic(`${what}: median ${median(times)} ms, latest ${Math.max(...times)} ms`);
}
