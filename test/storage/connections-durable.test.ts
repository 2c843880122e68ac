import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { until } from "../redis/until.ts";
import { SET, away, openConnections } from "./open-connections.ts";

const KEY = "{throughline:0}:key";

/** A replica that takes part in WAIT; after its link is up, that takes up to a second more. */
async function replicaOf(master: RedisServer): Promise<RedisServer> {
  const replica = await redisServer({ args: ["--replicaof", "127.0.0.1", `${master.port}`] });
  await until("the replica confirms", 10_000, async () => {
    await master.call("SET", "probe", "");
    return (await master.call("WAIT", 1, 100)) === 1;
  });
  return replica;
}

suite("durability: replicated", () => {
  test("confirmed waits for the replica and covers all writes before it", async () => {
    await using master = await redisServer({ args: ["--repl-diskless-sync-delay", "0"] });
    await using replica = await replicaOf(master);
    await using opened = await openConnections(master.url, { durability: "replicated", commandTimeoutMs: 2000 });
    const { connections } = opened;
    replica.pause();
    let confirmed = 0;
    const writers = Array.from({ length: 20 }, async () => {
      await connections.write(0, SET, [KEY], ["x"]);
      await connections.confirmed(0);
      confirmed += 1;
    });
    await delay(100);
    assert.equal(confirmed, 0);
    replica.resume();
    await Promise.all(writers);
    assert.equal(String(await replica.call("GET", KEY)), "x");
  });

  test("many writers share one WAIT", async () => {
    await using master = await redisServer({ args: ["--repl-diskless-sync-delay", "0"] });
    await using _replica = await replicaOf(master);
    await using opened = await openConnections(master.url, { durability: "replicated", commandTimeoutMs: 3000 });
    const { connections } = opened;
    await master.call("CONFIG", "RESETSTAT");
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        for (let round = 0; round < 10; round += 1) {
          await connections.write(0, SET, [KEY], ["x"]);
          await connections.confirmed(0);
        }
      }),
    );
    const waits = Number(/cmdstat_wait:calls=(\d+)/.exec(String(await master.call("INFO", "commandstats")))?.[1]);
    assert(waits <= 100, `${waits} WAITs for 1000 confirmations`);
  });

  test("commands do not wait behind a WAIT", async () => {
    await using master = await redisServer({ args: ["--repl-diskless-sync-delay", "0"] });
    await using opened = await openConnections(master.url, { durability: "replicated", commandTimeoutMs: 3000 });
    const { connections } = opened;
    await connections.write(0, SET, [KEY], ["x"]);
    const waiting = assert.rejects(connections.confirmed(0), away("unknown"));
    const started = performance.now();
    assert.deepEqual(await connections.call(0, "GET", KEY), Buffer.from("x"));
    assert(performance.now() - started < 150);
    await connections.write(0, SET, [KEY], ["y"]);
    await waiting;
    assert(connections.available(), "too few replicas end no connection");
  });

  test("a write whose connection was lost is not confirmed by the next connection", async () => {
    await using master = await redisServer({ args: ["--repl-diskless-sync-delay", "0"] });
    await using _replica = await replicaOf(master);
    await using proxy = await TcpProxy.open(master);
    await using opened = await openConnections(proxy.url, { durability: "replicated", commandTimeoutMs: 3000 });
    const { connections } = opened;
    const epoch = connections.writerEpoch(0);
    assert(epoch !== undefined);
    await connections.write(0, SET, [KEY], ["x"]);
    const back = opened.back();
    proxy.cut();
    await back;
    await assert.rejects(connections.confirmed(0), away("unknown"));
    await connections.write(0, SET, [KEY], ["y"]);
    await connections.confirmed(0);
    await assert.rejects(connections.confirmed(0, epoch), away("unknown"));
    await connections.confirmed(0, connections.writerEpoch(0));
  });

  test("a WAIT whose connection is lost rejects with an unknown outcome", async () => {
    await using master = await redisServer({ args: ["--repl-diskless-sync-delay", "0"] });
    await using proxy = await TcpProxy.open(master);
    await using opened = await openConnections(proxy.url, { durability: "replicated", commandTimeoutMs: 3000 });
    await opened.connections.write(0, SET, [KEY], ["x"]);
    const waiting = Promise.all([
      assert.rejects(opened.connections.confirmed(0), away("unknown")),
      assert.rejects(opened.connections.confirmed(0), away("unknown")),
    ]);
    const back = opened.back();
    proxy.cut();
    await waiting;
    await back;
  });
});

test("with fsync a server that no longer fsyncs before it answers is not used again", async () => {
  await using server = await redisServer({ appendonly: "always" });
  await using opened = await openConnections(server.url, { durability: "fsync", commandTimeoutMs: 3000 });
  await opened.connections.write(0, SET, [KEY], ["x"]);
  await server.kill();
  await server.start();
  await until("back", 20_000, async () => opened.connections.available());
  assert.deepEqual(await opened.connections.call(0, "GET", KEY), Buffer.from("x"));
  await server.kill();
  await using _weaker = await redisServer({ port: server.port, args: ["--appendonly", "yes", "--appendfsync", "everysec"] });
  await until("warned", 20_000, async () => opened.warnings.some((warning) => warning.includes("appendfsync")));
  await assert.rejects(opened.connections.write(0, SET, [KEY], ["y"]), away("none"));
});
