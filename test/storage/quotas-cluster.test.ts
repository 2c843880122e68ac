/** Quotas in a Cluster whose slots move: what was spent stays spent, wherever its key is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenedStore } from "../../src/testing/contract/lab.ts";
import { prefixesIn, redisStores } from "../contract/redis-stores.ts";
import { redisCluster } from "../redis/redis-cluster.ts";

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
