/** A Cluster whose slots move for long: quotas count wherever their keys are, and a master that is gone is not looked for without end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { OpenedStore } from "../../src/testing/contract/lab.ts";
import { prefixesIn, redisStores } from "../contract/redis-stores.ts";
import { slotOf } from "../../src/storage/redis/connection/slot.ts";
import { redisCluster } from "../redis/redis-cluster.ts";
import { away, openConnections, SET, shardTag } from "./open-connections.ts";

const SLOT = 4711;
const SLOW = { perSecond: 0.01, burst: 5 };
const BOUNDS = { leaseMs: 10_000, retentionMs: 10_000, interruptedRetentionMs: 10_000, windowEntries: 100, windowBytes: 1024 * 1024 };

test("a quota is counted exactly while its slot is between two masters, for keys that are on either", async () => {
  await using cluster = await redisCluster({ replicasPerMaster: 0 });
  const prefix = prefixesIn(SLOT)();
  const open = redisStores(
    () => cluster.url,
    { shards: 1 },
    () => prefix,
  );
  const replicas: OpenedStore[] = [await open(BOUNDS), await open(BOUNDS)];
  try {
    const spend = async (replica: number, key: string): Promise<number> =>
      (await (replicas[replica] as OpenedStore).storage.spend(key, SLOW, 3)).granted;
    assert.equal(await spend(0, "before"), 3);
    const from = await cluster.masterOf(SLOT);
    // A master that serves no shard of ours: nobody is connected to it.
    const to = (await cluster.masters()).find(({ port }) => port !== from.port);
    assert(to !== undefined);
    await to.call("CLUSTER", "SETSLOT", SLOT, "IMPORTING", String(await from.call("CLUSTER", "MYID")));
    await from.call("CLUSTER", "SETSLOT", SLOT, "MIGRATING", String(await to.call("CLUSTER", "MYID")));
    assert.deepEqual([await spend(0, "during"), await spend(1, "during"), await spend(0, "during")], [3, 2, 0]);
    assert.deepEqual([await spend(1, "before"), await spend(0, "before")], [2, 0]);
  } finally {
    for (const { storage } of replicas) await storage.close();
  }
});

test("a master that a slot was to move to, and that is gone, is warned of once, and keeps nobody waiting", async () => {
  await using cluster = await redisCluster({ replicasPerMaster: 0, nodeTimeoutMs: 60_000 });
  await using opened = await openConnections(cluster.url, { shards: 1 });
  const slot = slotOf(shardTag(0));
  const from = await cluster.masterOf(slot);
  const to = (await cluster.masters()).find(({ port }) => port !== from.port);
  assert(to !== undefined);
  await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await from.call("CLUSTER", "MYID")));
  await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await to.call("CLUSTER", "MYID")));
  await to.kill();
  const absent = `${shardTag(0)}:absent`;
  for (let call = 0; call < 60; call += 1) {
    await assert.rejects(opened.connections.call(0, "GET", absent), away("none"));
    await assert.rejects(opened.connections.write(0, SET, [absent], ["x"]), away("none"));
    await delay(25);
  }
  assert.equal(opened.warnings.length, 1, opened.warnings.join("\n"));
});
