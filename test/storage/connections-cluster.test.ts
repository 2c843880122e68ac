import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { type RedisCluster, redisCluster } from "../redis/redis-cluster.ts";
import { until } from "../redis/until.ts";
import { SET, away, openConnections, shardTag } from "./open-connections.ts";
import { slotOf } from "../../src/storage/redis/connection/slot.ts";
import { outcomeUnknown } from "../../src/storage/redis/connection/connections.ts";

const SHARDS = 16;
const key = (shard: number): string => `${shardTag(shard)}:key`;
const channel = (shard: number): string => `${shardTag(shard)}:c`;
const shards = Array.from({ length: SHARDS }, (_, shard) => shard);

suite("in a Cluster", () => {
  let cluster: RedisCluster;
  before(async () => {
    cluster = await redisCluster({ nodeTimeoutMs: 2500 });
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  test("every shard's keys and channels are served by the master of its slot, over one connection per master", async () => {
    await using opened = await openConnections(cluster.url);
    const { connections } = opened;
    assert.equal(connections.publishCommand, "SPUBLISH");
    for (const shard of shards) {
      await connections.script(shard, SET, [key(shard)], [shard]);
      assert.equal(slotOf(shardTag(shard)), await cluster.slotOf(key(shard)));
      await connections.subscribe(shard, channel(shard));
      const message = opened.message(channel(shard));
      assert.equal(await connections.call(shard, "SPUBLISH", channel(shard), `to ${shard}`), 1);
      assert.equal(await message, `to ${shard}`);
    }
    for (const master of await cluster.masters()) {
      const list = String(await master.call("CLIENT", "LIST"));
      assert.equal(list.match(/name=throughline/g)?.length, 2, list);
    }
  });

  test("one seed is enough, even where it is a replica", async () => {
    const replica = cluster.nodes[3];
    await using opened = await openConnections(`redis+cluster://127.0.0.1:${replica?.port}`);
    await Promise.all(shards.map((shard) => opened.connections.call(shard, "SET", key(shard), shard)));
  });

  test("MOVED is followed, subscriptions follow the slot, and the shard's new master is reported", async () => {
    await using opened = await openConnections(cluster.url);
    const { connections } = opened;
    await connections.script(5, SET, [key(5)], ["before"]);
    await connections.subscribe(5, channel(5));
    const resubscribed = opened.resubscribed(channel(5));
    const back = opened.back();
    await cluster.migrateSlot(slotOf(shardTag(5)));
    assert.deepEqual(await connections.call(5, "GET", key(5)), Buffer.from("before"));
    await connections.write(5, SET, [key(5)], ["after"]);
    assert.deepEqual((await connections.many(5, [["GET", key(5)]]))[0], Buffer.from("after"));
    assert.deepEqual(await back, [5]);
    await resubscribed;
    assert(connections.available(), "a slot that moves between living masters is away for nobody");
    const message = opened.message(channel(5));
    await until("published to the one subscriber", 20_000, async () => (await connections.call(5, "SPUBLISH", channel(5), "hi")) === 1);
    assert.equal(await message, "hi");
  });

  test("the move of a slot nobody sends to is noticed by its subscription", async () => {
    await using opened = await openConnections(cluster.url);
    await opened.connections.subscribe(6, channel(6));
    const resubscribed = opened.resubscribed(channel(6));
    await cluster.migrateSlot(slotOf(shardTag(6)));
    await resubscribed;
  });

  test("while a slot moves, ASK is followed to where its key goes; a write that has to be confirmed, and TRYAGAIN, are STORE_UNAVAILABLE and not executed", async () => {
    await using opened = await openConnections(cluster.url);
    const { connections } = opened;
    const slot = slotOf(shardTag(7));
    const from = await cluster.masterOf(slot);
    const to = (await cluster.masters()).find((master) => master.port !== from.port);
    assert(to !== undefined);
    const [fromId, toId] = [String(await from.call("CLUSTER", "MYID")), String(await to.call("CLUSTER", "MYID"))];
    const absent = `${shardTag(7)}:absent`;
    await connections.call(7, "SET", key(7), "x");
    await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
    await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
    await assert.rejects(connections.write(7, SET, [absent], ["written"]), away("none"), "not followed by writes");
    await assert.rejects(connections.call(7, "MGET", key(7), absent), away("none"), "TRYAGAIN");
    assert.equal(String(await connections.call(7, "SET", absent, "called")), "OK");
    assert.deepEqual(await connections.call(7, "GET", absent), Buffer.from("called"));
    await to.call("SCRIPT", "FLUSH");
    await connections.script(7, SET, [absent], ["scripted"]);
    const read = await connections.many(7, [
      ["GET", absent],
      ["GET", key(7)],
    ]);
    assert.deepEqual(read, [Buffer.from("scripted"), Buffer.from("x")]);
    assert.equal(await from.call("EXISTS", key(7)), 1);
    await connections.call(7, "DEL", absent);
    await from.call("CLUSTER", "SETSLOT", slot, "STABLE");
    await to.call("CLUSTER", "SETSLOT", slot, "STABLE");
    assert.deepEqual(await connections.call(7, "GET", key(7)), Buffer.from("x"));
  });

  test("no write is executed twice and none fails for good while a slot moves on and on", async () => {
    // Its own: replicas may take long to hear where the slot is in the end.
    await using moved = await redisCluster({ replicasPerMaster: 0 });
    await using opened = await openConnections(moved.url);
    const { connections } = opened;
    const count = `${shardTag(9)}:count`;
    const moving = new AbortController();
    const moves = moved.keepMigrating(slotOf(shardTag(9)), moving.signal, { times: 10 });
    let done = 0;
    let unknown = 0;
    const ended = moves.finally(() => moving.abort());
    ended.catch(() => undefined);
    while (!moving.signal.aborted) {
      await connections.call(9, "INCR", count).then(
        () => (done += 1),
        async (error: unknown) => {
          unknown += outcomeUnknown(error) ? 1 : 0;
          // What is refused at once must not keep the connection that is being made from being made.
          await new Promise((resolve) => setImmediate(resolve));
        },
      );
    }
    await ended;
    const stored = await until("stored", 20_000, async () => Number(String(await connections.call(9, "GET", count))));
    assert(stored >= done && stored <= done + unknown, `${done} answered, ${unknown} unknown, ${stored} stored`);
    assert(done > 0);
  });

  test("a master that is killed is replaced; its shards come back, the others stay up", async () => {
    await using opened = await openConnections(cluster.url);
    const { connections } = opened;
    await Promise.all(shards.map((shard) => connections.subscribe(shard, channel(shard))));
    const owners = await Promise.all(shards.map((shard) => cluster.masterOf(slotOf(shardTag(shard)))));
    const lost = shards.filter((shard) => owners[shard] === owners[0]);
    const kept = shards.filter((shard) => !lost.includes(shard));
    const since = new Map(kept.map((shard) => [shard, connections.upSince(shard)]));
    const resubscribed = Promise.all(lost.map((shard) => opened.resubscribed(channel(shard))));
    const back = opened.back();
    const killed = await cluster.killMaster(slotOf(shardTag(0)));
    assert.deepEqual(await back, lost);
    await resubscribed;
    for (const shard of shards) await connections.script(shard, SET, [key(shard)], ["after"]);
    for (const [shard, time] of since) assert.equal(connections.upSince(shard), time);
    assert(connections.available());
    await cluster.restartNode(killed);
    await connections.script(0, SET, [key(0)], ["again"]);
  });

  test("a master that hangs is replaced without any command of the caller", async () => {
    await using opened = await openConnections(cluster.url);
    const back = opened.back();
    const hung = await cluster.masterOf(slotOf(shardTag(0)));
    hung.pause();
    try {
      assert((await back).includes(0));
      await opened.connections.script(0, SET, [key(0)], ["after"]);
    } finally {
      hung.resume();
    }
    await cluster.settled();
    await opened.connections.script(0, SET, [key(0)], ["again"]);
  });

  test("all nodes gone reject at once, and are found back", async () => {
    await using alone = await redisCluster({ masters: 1, replicasPerMaster: 0, appendonly: "always" });
    await using opened = await openConnections(alone.url);
    const [node] = alone.nodes;
    assert(node !== undefined);
    await node.kill();
    await until("noticed", 20_000, async () => !opened.connections.available());
    await assert.rejects(opened.connections.call(0, "PING"), away("none"));
    const back = opened.back();
    await node.start();
    assert.deepEqual(await back, shards);
    await until("usable", 20_000, async () => opened.connections.call(0, "SET", key(0), 1));
  });

  test("an ACL user needs the Cluster's own rights, and is told which", async () => {
    for (const node of cluster.nodes) {
      const admin = node.client();
      const rights = [
        "~{throughline*",
        "&{throughline:*",
        "+@read",
        "+@write",
        "+eval",
        "+evalsha",
        "+info",
        "+spublish",
        "+ssubscribe",
        "+sunsubscribe",
      ];
      await admin.call("ACL", "SETUSER", "full", "reset", "on", ">pass", ...rights, "+ping", "+cluster|slots");
      await admin.call("ACL", "SETUSER", "less", "reset", "on", ">pass", ...rights, "+ping");
    }
    await using opened = await openConnections(cluster.url.replace("//", "//full:pass@"));
    assert(opened.connections.available());
    await assert.rejects(openConnections(cluster.url.replace("//", "//less:pass@")), /redis\.url: .*grant \+cluster\|slots/);
  });
});
