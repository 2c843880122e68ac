/** One master of a Cluster is away: the work of all other shards goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isAway } from "../../src/core/errors.ts";
import type { Taken } from "../../src/core/storage.ts";
import { ShardKeys } from "../../src/storage/redis/keys.ts";
import { unavailable } from "../../src/storage/redis/connection/store-error.ts";
import { chunk, type Lab, type LabTask, request } from "../../src/testing/contract/lab.ts";
import { type RedisCluster, redisCluster } from "../redis/redis-cluster.ts";
import { redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { aroundScript } from "./around-script.ts";
import { keysOf, openLab, PLACE } from "./store-bed.ts";

/** Enough for each master to have some. */
const SHARDS = 16;
const TASKS = 24;
const WITHIN_MS = 10_000;
const FROZEN = 2;
/** A long lease, and no failover: the master that is away stays away. */
const CLUSTER = { masters: 3, replicasPerMaster: 0, nodeTimeoutMs: 600_000, args: ["--cluster-require-full-coverage", "no"] };

/** The shards of a node. */
async function shardsOf(cluster: RedisCluster, node: number): Promise<Set<number>> {
  const shards = new Set<number>();
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const slot = await cluster.slotOf(new ShardKeys(PLACE.prefix, shard).leases);
    if ((await cluster.masterOf(slot)) === cluster.nodes[node]) shards.add(shard);
  }
  return shards;
}

function parted(tasks: readonly LabTask[], away: ReadonlySet<number>): { readonly here: string[]; readonly gone: string[] } {
  const { here = [], gone = [] } = Object.groupBy(tasks, ({ id }) => (away.has(shardOf(id)) ? "gone" : "here"));
  assert.ok(here.length > 0 && gone.length > 0);
  return { here: here.map(({ id }) => id).toSorted(), gone: gone.map(({ id }) => id).toSorted() };
}

function shardOf(id: string): number {
  return Number.parseInt(id.slice(-2), 16);
}

function idsOf(taken: readonly Taken[]): string[] {
  return taken.map(({ lease }) => lease.taskId).toSorted();
}

function begin(lab: Lab, how: "waiting" | "owned"): Promise<LabTask[]> {
  return Promise.all(Array.from({ length: TASKS }, () => (how === "owned" ? lab.owned() : lab.begin())));
}

test("a master that is away: tasks of the others are taken, renewed, swept; its own are unknown, and taken when it is back", async () => {
  await using cluster = await redisCluster(CLUSTER);
  await using lab = await openLab(cluster.url, { shards: SHARDS });
  await using other = await openLab(cluster.url, { shards: SHARDS });
  const away = await shardsOf(cluster, FROZEN);
  const waiting = await begin(lab, "waiting");
  const owned = await begin(lab, "owned");
  // What an owner has not heard of is learned of by the renewal.
  const ends = await Promise.all(owned.map(async (task) => (await task.append([chunk()])).at(-1)?.offset));
  const over = await begin(lab, "owned");
  const { here, gone } = parted(waiting, away);
  cluster.nodes[FROZEN]?.pause();
  const taken = await other.storage.take(request("r2"), 1000);
  assert.deepEqual(idsOf(taken), here);
  assert.ok(taken.every(({ meta }) => meta.leased));
  const lost = over.find(({ id }) => !away.has(shardOf(id))) ?? assert.fail();
  const renewals = [...owned.map(({ lease }) => ({ lease, consumed: 0 })), { lease: { ...lost.lease, token: "another" }, consumed: 0 }];
  const replies = await lab.storage.renew(renewals);
  assert.equal(replies.at(-1)?.is, "fenced");
  for (const [index, { id }] of owned.entries()) {
    const reply = replies[index];
    if (away.has(shardOf(id))) assert.equal(reply?.is, "unknown");
    else assert.ok(reply?.is === "held" && reply.end.offset === ends[index]);
  }
  const all = owned.filter(({ id }) => away.has(shardOf(id))).map(({ lease }) => ({ lease, consumed: 0 }));
  await assert.rejects(lab.storage.renew(all), isAway, "nothing but what is away");
  await lab.storage.sweep();
  await assert.rejects(other.storage.take(request("r2"), 1000), isAway, "nothing else is left");
  cluster.nodes[FROZEN]?.resume();
  const late: Taken[] = [];
  await until("those of the master are taken when it is back", WITHIN_MS, async () => {
    late.push(...(await other.storage.take(request("r2"), 1000)));
    return late.length >= gone.length;
  });
  assert.deepEqual(idsOf(late), gone);
  const again = await lab.storage.renew(renewals.slice(0, -1));
  assert.ok(again.every(({ is }) => is === "held"));
});

test("a take that was answered without a shard, which had carried it out: the next take learns what it was given there", async (t) => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const tasks = await begin(lab, "waiting");
  const [first] = tasks;
  const deaf = keysOf(first?.id ?? assert.fail()).shard;
  let hears = false;
  aroundScript(t, "take", async (send, shard) => {
    const reply = await send();
    if (shard === deaf && !hears) throw unavailable(new Error("the reply is lost"), "unknown");
    return reply;
  });
  const { here, gone } = parted(tasks, new Set([deaf]));
  const asked = request();
  assert.deepEqual(idsOf(await lab.storage.take(asked, 1000)), here);
  hears = true;
  const later = await lab.storage.take(request(), 1000);
  assert.deepEqual(idsOf(later), gone);
  assert.ok(later.every(({ lease }) => lease.token === asked.token));
  const renewed = await lab.storage.renew(later.map(({ lease }) => ({ lease, consumed: 0 })));
  assert.ok(renewed.every(({ is }) => is === "held"));
  assert.deepEqual(await lab.storage.take(request(), 1000), [], "nothing is given twice");
});

test("a take that learns of as much as it asked for takes nothing more", async (t) => {
  await using server = await redisServer();
  await using lab = await openLab(server.url, { shards: 2 });
  const tasks = await begin(lab, "waiting");
  let hears = false;
  aroundScript(t, "take", async (send, shard) => {
    const reply = await send();
    if (shard === 0 && !hears) throw unavailable(new Error("the reply is lost"), "unknown");
    return reply;
  });
  const { gone } = parted(tasks, new Set([0]));
  await lab.storage.take(request(), 1000);
  hears = true;
  const more = await begin(lab, "waiting");
  const counted = async (): Promise<number> =>
    Number(/cmdstat_zrange:calls=(\d+)/.exec(String(await server.call("INFO", "commandstats")))?.[1]);
  const before = await counted();
  assert.deepEqual(idsOf(await lab.storage.take(request(), gone.length)), gone);
  assert.equal(await counted(), before, "what waits is not even looked at");
  assert.deepEqual(idsOf(await lab.storage.take(request(), 1000)), more.map(({ id }) => id).toSorted());
});
