import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../redis/until.ts";
import { MASTER_NAME, redisSentinels } from "../redis/sentinels.ts";
import { SET, openConnections } from "./open-connections.ts";

const KEY = "{throughline:2}:key";
const CHANNEL = "{throughline:2}:c";

test("after a failover the new master is found, subscriptions stand on it, and the old one is not used", async () => {
  await using redis = await redisSentinels({ password: "pass word" });
  await using opened = await openConnections(redis.url);
  const { connections } = opened;
  await connections.subscribe(2, CHANNEL);
  await connections.script(2, SET, [KEY], ["before"]);
  const back = opened.back();
  const resubscribed = opened.resubscribed(CHANNEL);
  const old = await redis.failover();
  assert.equal((await back).length, 16);
  await resubscribed;
  const master = await redis.master();
  assert.notEqual(master.port, old.port);
  await connections.script(2, SET, [KEY], ["after"]);
  assert.equal(String(await master.call("GET", KEY)), "after");
  const message = opened.message(CHANNEL);
  await connections.call(2, "PUBLISH", CHANNEL, "hi");
  assert.equal(await message, "hi");
});

test("a master that hangs is left when the sentinels name another", async () => {
  await using redis = await redisSentinels();
  await using opened = await openConnections(redis.url);
  await opened.connections.subscribe(2, CHANNEL);
  const back = opened.back();
  const resubscribed = opened.resubscribed(CHANNEL);
  const old = await redis.master();
  old.pause();
  await Promise.all([back, resubscribed]);
  await opened.connections.script(2, SET, [KEY], ["after"]);
  old.resume();
  assert.deepEqual(await opened.connections.call(2, "GET", KEY), Buffer.from("after"));
});

test("a master that was replaced on purpose is left when the sentinels name another, although it still takes itself for the master", async () => {
  await using redis = await redisSentinels();
  await using opened = await openConnections(redis.url);
  await opened.connections.subscribe(2, CHANNEL);
  const back = opened.back();
  const resubscribed = opened.resubscribed(CHANNEL);
  const old = await redis.master();
  await until("a failover begins", 10_000, async () => (await redis.sentinels[0]?.call("SENTINEL", "FAILOVER", MASTER_NAME)) === "OK");
  const now = await until("the sentinels name another", 10_000, async () => {
    const master = await redis.master();
    return master !== old && master;
  });
  const named = performance.now();
  await Promise.all([back, resubscribed]);
  const left = performance.now() - named;
  await opened.connections.script(2, SET, [KEY], ["after"]);
  assert.equal(String(await now.call("GET", KEY)), "after");
  assert.ok(left < 2000, `${left} ms`);
});

test("a sentinel that is down or unknown does not keep others from being asked", async () => {
  await using redis = await redisSentinels();
  await redis.sentinels[0]?.kill();
  await using opened = await openConnections(redis.url);
  assert(opened.connections.available());
  await assert.rejects(openConnections(redis.url.replace("mymaster", "other")), /knows no master "other"/);
});

test("with durability replicated a write is confirmed by the replica, and not confirmed without one", async () => {
  await using redis = await redisSentinels();
  await using opened = await openConnections(redis.url, { durability: "replicated" });
  const { connections } = opened;
  assert(connections.durable);
  await connections.write(2, SET, [KEY], ["x"]);
  await connections.confirmed(2);
  const replica = redis.servers[1];
  assert(replica !== undefined);
  assert.equal(String(await replica.call("GET", KEY)), "x");
  const back = opened.back();
  await redis.failover();
  await back;
  await connections.write(2, SET, [KEY], ["y"]);
  await assert.rejects(connections.confirmed(2), { reason: "STORE_UNAVAILABLE" });
  await until("the value stands", 20_000, async () => String(await replica.call("GET", KEY)) === "y");
});
