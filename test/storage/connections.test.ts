import assert from "node:assert/strict";
import { test } from "node:test";
import { RedisReplyError, outcomeUnknown } from "../../src/storage/redis/connection/connections.ts";
import { redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { until } from "../redis/until.ts";
import { SET, away, openConnections } from "./open-connections.ts";
import { scriptOf } from "./script-of.ts";

const KEY = "{throughline:0}:key";

test("commands, scripts and pipelines are binary safe and answer in RESP2 shapes", async () => {
  await using server = await redisServer();
  await using opened = await openConnections(server.url);
  const { connections } = opened;
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await connections.call(0, "SET", KEY, bytes);
  assert.deepEqual(await connections.call(0, "GET", KEY), bytes);
  const echo = scriptOf("echo", "return {KEYS[1], ARGV[1], 7, false, {redis.status_reply('OK')}}");
  const expected = [Buffer.from(KEY), bytes, 7, null, [Buffer.from("OK")]];
  assert.deepEqual(await connections.script(0, echo, [KEY], [new Uint8Array(bytes)]), expected);
  await server.call("SCRIPT", "FLUSH");
  assert.deepEqual(await connections.script(0, echo, [KEY], [bytes]), expected, "the text is sent where the digest is not known");
  const many = await connections.many(0, [["PING"], ["HSET", "{throughline:0}:h", "a", bytes], ["HGETALL", "{throughline:0}:h"]]);
  assert.deepEqual(many, [Buffer.from("PONG"), 1, [Buffer.from("a"), bytes]]);
  await connections.confirmed(0);
  assert.equal(connections.durable, false);
});

test("an error reply is an error of its own that carries no contents", async () => {
  await using server = await redisServer();
  await using opened = await openConnections(server.url);
  const failing = scriptOf("fail", "return redis.error_reply('SOME thing is wrong')");
  await assert.rejects(opened.connections.script(0, failing, [KEY], ["secret"]), (error) => {
    assert(error instanceof RedisReplyError);
    assert.equal(error.code, "SOME");
    assert.doesNotMatch(JSON.stringify(error) + String(error.stack), /secret/);
    return !outcomeUnknown(error);
  });
  await assert.rejects(
    opened.connections.many(0, [
      ["SET", KEY, 1],
      ["INCR", "{throughline:0}:h", "x"],
    ]),
    RedisReplyError,
  );
  assert.deepEqual(await opened.connections.call(0, "GET", KEY), Buffer.from("1"), "the others of a pipeline are executed");
});

test("a lost reply rejects in time with an unknown outcome, and the command is not sent again", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  const { connections } = opened;
  await connections.call(0, "SET", KEY, 0);
  const back = opened.back();
  const dropped = proxy.dropNextReply({ match: (request) => request.includes("INCR") });
  await assert.rejects(connections.call(0, "INCR", KEY), away("unknown"));
  await dropped;
  await back;
  assert.deepEqual(await connections.call(0, "GET", KEY), Buffer.from("1"));
});

test("a slow reply times out, and is given to no other command", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  const { connections } = opened;
  const back = opened.back();
  proxy.pauseReplies();
  const started = performance.now();
  await assert.rejects(connections.call(0, "ECHO", "late"), away("unknown"));
  const took = performance.now() - started;
  assert(took >= 290 && took < 900, `${took} ms`);
  proxy.resumeReplies();
  await back;
  assert.deepEqual(await connections.call(0, "ECHO", "now"), Buffer.from("now"));
});

test("a pause of this process times nothing out", async () => {
  await using server = await redisServer();
  await using opened = await openConnections(server.url, { commandTimeoutMs: 50 });
  for (let round = 0; round < 3; round += 1) {
    const reply = opened.connections.call(0, "PING");
    const resumeAt = performance.now() + 200;
    while (performance.now() < resumeAt);
    assert.deepEqual(await reply, Buffer.from("PONG"));
  }
});

test("while the server is away everything rejects at once with a known outcome, and it is found back by itself", async () => {
  await using server = await redisServer();
  await using opened = await openConnections(server.url);
  const { connections } = opened;
  const before = connections.upSince(3);
  assert(before !== undefined && connections.available());
  await server.kill();
  await until("the loss is noticed", 20_000, async () => !connections.available());
  assert.equal(connections.upSince(3), undefined);
  const started = performance.now();
  await assert.rejects(connections.call(0, "PING"), away("none"));
  await assert.rejects(connections.script(0, SET, [KEY], ["x"]), away("none"));
  await assert.rejects(connections.many(0, [["PING"]]), away("none"));
  await assert.rejects(connections.write(0, SET, [KEY], ["x"]), away("none"));
  assert(performance.now() - started < 100);
  await until("warned", 20_000, async () => opened.warnings.some((warning) => warning.includes("nobody listens")));
  const back = opened.back();
  await server.start();
  assert.deepEqual(
    await back,
    Array.from({ length: 16 }, (_, shard) => shard),
  );
  assert.deepEqual(await connections.call(0, "PING"), Buffer.from("PONG"));
  assert((connections.upSince(3) ?? 0) > before);
  assert.deepEqual(opened.warnings.length, 2, "one warning of the loss, one line of the return");
});

test("a cut connection is made again within 100 ms", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  const back = opened.back();
  const started = performance.now();
  proxy.cut();
  await back;
  assert(performance.now() - started < 100);
});

test("a half-open connection is noticed without any traffic of the caller", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  await opened.connections.subscribe(1, "{throughline:1}:c");
  proxy.halfOpen();
  await until("the loss is noticed", 20_000, async () => !opened.connections.available());
  const resubscribed = opened.resubscribed("{throughline:1}:c");
  const back = opened.back();
  await proxy.heal();
  await Promise.all([back, resubscribed]);
});

test("pending commands reject when a half-open connection is given up, and close ends everything", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  proxy.halfOpen();
  const pending = Array.from({ length: 100 }, () => opened.connections.call(0, "PING"));
  const settled = await Promise.allSettled(pending);
  assert(settled.every((result) => result.status === "rejected" && away("unknown")(result.reason)));
  await proxy.heal();
  await opened.connections.close();
  await assert.rejects(opened.connections.call(0, "PING"), away("none"));
  await assert.rejects(opened.connections.subscribe(0, "{throughline:0}:c"), away("none"));
});

test("subscriptions deliver bytes, survive a lost connection and end when asked", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  const { connections } = opened;
  const channels = Array.from({ length: 1200 }, (_, index) => `{throughline:${index % 16}}:e:${index}`);
  await Promise.all(channels.map((channel, index) => connections.subscribe(index % 16, channel)));
  const [first = "", second = "", ...others] = channels;
  await connections.unsubscribe(1, second);
  const again = Promise.all([first, ...others].map((channel) => opened.resubscribed(channel)));
  proxy.cut();
  await again;
  const message = opened.message(first);
  await until("published to one subscriber", 20_000, async () => (await server.call("PUBLISH", first, "héllo")) === 1);
  assert.equal(await message, "héllo");
  assert.equal(await server.call("PUBLISH", second, "x"), 0);
  await connections.subscribe(1, second);
  assert.equal(await connections.call(1, connections.publishCommand, second, "x"), 1);
});

test("a subscription that cannot be made rejects and does not come back later", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using opened = await openConnections(proxy.url);
  await opened.connections.subscribe(0, "{throughline:0}:stays");
  proxy.refuse();
  proxy.cut();
  await assert.rejects(opened.connections.subscribe(0, "{throughline:0}:lost"), away("unknown"));
  const again = opened.resubscribed("{throughline:0}:stays");
  await proxy.heal();
  await again;
  assert.deepEqual(await server.call("PUBSUB", "CHANNELS"), ["{throughline:0}:stays"]);
});

test("replies that mean not now are STORE_UNAVAILABLE with a known outcome", async () => {
  await using server = await redisServer({ args: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"] });
  await assert.rejects(openConnections(server.url), /OOM command not allowed/);
  await server.call("CONFIG", "SET", "maxmemory", "0");
  await using opened = await openConnections(server.url);
  await server.call("CONFIG", "SET", "maxmemory", "1");
  await assert.rejects(opened.connections.script(0, SET, [KEY], ["x"]), away("none"));
  await server.call("CONFIG", "SET", "maxmemory", "0");
  await server.call("CONFIG", "SET", "min-replicas-to-write", "1");
  await assert.rejects(opened.connections.call(0, "SET", KEY, "x"), away("none"));
});

test("a server that is there and stores nothing is told to the operator, with its reason, once a minute at most", async () => {
  await using server = await redisServer({ args: ["--maxmemory-policy", "noeviction"] });
  await using opened = await openConnections(server.url);
  await server.call("CONFIG", "SET", "maxmemory", "1");
  for (let count = 0; count < 3; count += 1) await assert.rejects(opened.connections.write(0, SET, [KEY], ["secret"]), away("none"));
  const told = opened.warnings.filter((warning) => warning.includes("stores nothing"));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", /^redis: 127\.0\.0\.1:\d+ stores nothing: OOM command not allowed/);
  assert.doesNotMatch(told[0] ?? "", /secret/);
});

test("a master that became a replica is left, and taken again when it is master", async () => {
  await using server = await redisServer();
  await using other = await redisServer();
  await using opened = await openConnections(server.url);
  const { connections } = opened;
  await server.call("REPLICAOF", "127.0.0.1", other.port);
  await assert.rejects(connections.call(0, "SET", KEY, "x"), away("none"));
  await until("warned", 20_000, async () => opened.warnings.some((warning) => warning.includes("is a replica")));
  assert.equal(connections.available(), false);
  const back = opened.back();
  await server.call("REPLICAOF", "NO", "ONE");
  await back;
  assert.deepEqual(await connections.call(0, "SET", KEY, "x"), Buffer.from("OK"));
});

test("a script that blocks the server is told as away, not waited for", async () => {
  await using server = await redisServer({ args: ["--busy-reply-threshold", "50"] });
  await using opened = await openConnections(server.url);
  const forever = scriptOf("forever", "while true do end");
  const running = opened.connections.script(0, forever, [KEY], []);
  await assert.rejects(running, away("unknown"));
  await until("busy", 20_000, async () =>
    opened.connections.call(0, "GET", KEY).then(
      () => false,
      (error: unknown) => away("none")(error),
    ),
  );
  const back = opened.back();
  await server.client({ enableReadyCheck: false }).call("SCRIPT", "KILL");
  await back;
  await opened.connections.call(0, "GET", KEY);
});

test("a database other than 0 is used by commands and is no wall for channels", async () => {
  await using server = await redisServer();
  await using opened = await openConnections(`${server.url}/5`);
  const { connections } = opened;
  await connections.call(0, "SET", KEY, "x");
  assert.equal(await server.call("EXISTS", KEY), 0);
  await connections.subscribe(0, "{throughline:0}:c");
  const message = opened.message("{throughline:0}:c");
  await connections.call(0, "PUBLISH", "{throughline:0}:c", "hi");
  assert.equal(await message, "hi");
});
