/** The cluster fixture: a real Redis Cluster that fails over and whose slots move. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisCluster } from "./redis-cluster.ts";

const clientOptions = {
  retryDelayOnFailover: 50,
  retryDelayOnClusterDown: 50,
  retryDelayOnTryAgain: 5,
  maxRedirections: 1000,
  slotsRefreshTimeout: 500,
};

test("a cluster serves all slots, survives the loss of a master and takes it back", async (t) => {
  let started = performance.now();
  const lap = (what: string): void => {
    t.diagnostic(`${what}: ${Math.round(performance.now() - started)} ms`);
    started = performance.now();
  };
  await using cluster = await redisCluster({ password: "secret" });
  lap("start");
  const client = cluster.client(clientOptions);
  const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
  await Promise.all(keys.map(async (key) => client.set(key, key)));
  const masters = await cluster.masters();
  assert.equal(masters.length, 3);
  const slot = await cluster.slotOf("key-0");
  await Promise.all(masters.map(async (master) => master.call("WAIT", 1, 1000)));
  lap("use");
  const killed = await cluster.killMaster(slot);
  lap("failover");
  assert.notEqual(await cluster.masterOf(slot), killed);
  assert.deepEqual(await Promise.all(keys.map(async (key) => client.get(key))), keys);
  lap("read");
  await cluster.restartNode(killed);
  lap("restart");
  assert.match(String(await killed.call("INFO", "replication")), /role:slave/);
});

test("a slot moves between masters while its keys are written and read", async (t) => {
  await using cluster = await redisCluster();
  const client = cluster.client(clientOptions);
  const slot = await cluster.slotOf("{moving}");
  const keys = Array.from({ length: 20 }, (_, index) => `{moving}:${index}`);
  const started = performance.now();
  const over = new AbortController();
  const moving = cluster.keepMigrating(slot, t.signal, { times: 10, pauseMs: 2, batch: 5 }).finally(() => over.abort());
  let rounds = 0;
  while (!over.signal.aborted) {
    rounds += 1;
    const values = await Promise.all(keys.map(async (key) => client.incr(key)));
    assert.deepEqual(new Set(values), new Set([rounds]));
  }
  assert.equal(await moving, 10);
  const errors = await Promise.all(cluster.nodes.map(async (node) => String(await node.call("INFO", "errorstats"))));
  assert.ok(
    errors.some((text) => text.includes("errorstat_ASK:")),
    "keys were asked for while they moved",
  );
  t.diagnostic(`10 moves, ${rounds} rounds: ${Math.round(performance.now() - started)} ms`);
  const owner = await cluster.masterOf(slot);
  assert.equal(await owner.call("CLUSTER", "COUNTKEYSINSLOT", slot), 20);
  const stopped = await cluster.keepMigrating(slot, AbortSignal.abort());
  assert.equal(stopped, 0);
});
