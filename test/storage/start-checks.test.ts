import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { suite, test } from "node:test";
import { StoreSetupError } from "../../src/storage/redis/connection/connections.ts";
import { checkServer } from "../../src/storage/redis/connection/start-checks.ts";
import type { Dialed } from "../../src/storage/redis/connection/dial.ts";
import type { RedisOptions } from "../../src/storage/redis/connection/redis-options.ts";
import { parseRedisUrl } from "../../src/storage/redis/connection/url.ts";
import { freePort } from "../redis/free-port.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { SET, openConnections } from "./open-connections.ts";

/** The rights that the connections need, as start-checks.ts lists them, and one command of a script. */
const RIGHTS = [
  "~{throughline:*",
  "~{throughline}:config",
  "&{throughline:*",
  ...["info", "ping", "eval", "evalsha", "hsetnx", "hmget", "publish", "subscribe", "unsubscribe", "set"].map((command) => `+${command}`),
];

async function refused(url: string, message: RegExp, options: Partial<RedisOptions> = {}, agent?: string): Promise<void> {
  const started = performance.now();
  await assert.rejects(openConnections(url, options, agent), (error) => {
    assert(error instanceof StoreSetupError, String(error));
    assert.match(error.message, message);
    assert.match(error.message, /^redis\.\w+: /);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  assert(performance.now() - started < 6000);
}

suite("a start is refused, with a text that names the option and the cure", { concurrency: true }, () => {
  test("for options out of range", async () => {
    const url = "redis://127.0.0.1:1";
    await refused(url, /redis\.prefix.*braces/, { prefix: "a{b" });
    await refused(url, /redis\.prefix/, { prefix: "" });
    await refused(url, /redis\.shards: must be 1 to 256, not 257/, { shards: 257 });
    await refused(url, /redis\.shards/, { shards: 0 });
    await refused(url, /redis\.replicas/, { durability: "replicated", replicas: 0 });
    await refused(url, /redis\.commandTimeoutMs/, { commandTimeoutMs: 0 });
    await refused(url, /redis\.tlsCa: only for a rediss/, { tlsCa: "ca.pem" });
    await refused("rediss://127.0.0.1:1", /redis\.tlsCa: nowhere\.pem cannot be read/, { tlsCa: "nowhere.pem" });
    await refused("rediss://127.0.0.1:1", /redis\.tlsCert: goes together/, { tlsCert: "cert.pem" });
  });

  test("for a host where nobody listens, or that is unknown", async () => {
    await refused(`redis://127.0.0.1:${await freePort()}`, /nobody listens at 127\.0\.0\.1/);
    await refused("redis://no-such-host.invalid", /host name of no-such-host\.invalid:6379 is not known/);
    await refused(`redis+sentinel://127.0.0.1:${await freePort()}/m`, /no sentinel names the master: nobody listens/);
    await refused(`redis+cluster://127.0.0.1:${await freePort()}`, /nobody listens/);
  });

  test("for a server that accepts and says nothing, within 5 seconds", async () => {
    await using server = await redisServer();
    await using proxy = await TcpProxy.open(server);
    proxy.halfOpen();
    await refused(proxy.url, /does not answer/);
  });

  test("for what is no Redis", async () => {
    const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await refused(`redis://127.0.0.1:${(server.address() as { port: number }).port}`, /127\.0\.0\.1/);
    } finally {
      server.close();
    }
  });

  test("for a wrong, missing or needless password", async () => {
    await using server = await redisServer({ password: "right" });
    const at = `127.0.0.1:${server.port}`;
    await refused(`redis://:secret@${at}`, /refuses this user or password/);
    await refused(`redis://nobody:secret@${at}`, /refuses this user or password/);
    await refused(`redis://${at}`, /asks for a password/);
    await using open = await redisServer();
    await refused(`redis://:secret@127.0.0.1:${open.port}`, /refuses to sign in .*without any password/);
  });

  test("for a database that does not exist", async () => {
    await using server = await redisServer({ args: ["--databases", "4"] });
    await refused(`${server.url}/7`, /has no database 7/);
    await using _opened = await openConnections(`${server.url}/3`);
  });

  test("for a replica", async () => {
    await using master = await redisServer();
    await using replica = await redisServer({ args: ["--replicaof", "127.0.0.1", `${master.port}`] });
    await refused(replica.url, /is a replica, not a master/);
  });

  test("for a URL scheme of another kind of server", async () => {
    await using server = await redisServer();
    await refused(server.url.replace("redis:", "redis+cluster:"), /runs in standalone mode; use redis:\/\//);
    await refused(`${server.url.replace("redis:", "redis+sentinel:")}/m`, /sentinel .* refuses: .*unknown command/);
    await using node = await redisServer({ args: ["--cluster-enabled", "yes", "--cluster-port", String(await freePort())] });
    await refused(node.url, /runs in cluster mode; use redis\+cluster:\/\//);
    await refused(node.url.replace("redis:", "redis+cluster:"), /no master of the Cluster serves slot/);
  });

  test("for other shards or another agent than the first start's", async () => {
    await using server = await redisServer();
    await using _first = await openConnections(server.url);
    await refused(server.url, /redis\.shards: 8, but .* written with 16/, { shards: 8 });
    await refused(server.url, /belongs to the agent "agent", not "other"/, {}, "other");
    await using _other = await openConnections(server.url, { prefix: "another", shards: 8 }, "other");
  });

  test("for fsync without an append-only file, and without appendfsync always before 7.2", async () => {
    await using server = await redisServer();
    await refused(server.url, /redis\.durability: fsync needs "appendonly yes"/, { durability: "fsync" });
    await using lazy = await redisServer({ args: ["--appendonly", "yes", "--appendfsync", "no"] });
    await refused(lazy.url, /needs "appendfsync always" .* it is "no"/, { durability: "fsync" });
    await using always = await redisServer({ appendonly: "always" });
    await using opened = await openConnections(always.url, { durability: "fsync" });
    assert.equal(opened.connections.durable, false);
  });

  test("for an ACL user without a right that is needed, naming it", async () => {
    await using server = await redisServer();
    await withUser(server, RIGHTS, async (url) => {
      await using opened = await openConnections(url);
      await opened.connections.script(3, SET, ["{throughline:3}:a"], ["x"]);
      await opened.connections.subscribe(3, "{throughline:3}:c");
      assert.equal(await opened.connections.call(3, "PUBLISH", "{throughline:3}:c", "x"), 1);
      await opened.connections.unsubscribe(3, "{throughline:3}:c");
      assert.deepEqual(opened.warnings, []);
    });
    const lacking: readonly (readonly [right: string, message: RegExp])[] = [
      ["&{throughline:*", /may not subscribe to channels \{throughline:0\}:\* \(.*NOPERM.*\); grant \+subscribe and &\{throughline:\*/],
      ["+subscribe", /may not subscribe to channels/],
      ["+publish", /may not publish to channels .*grant \+publish and &\{throughline:\*/],
      ["+evalsha", /may not run scripts .*grant \+evalsha/],
      ["+eval", /may not run scripts .*grant \+eval/],
      ["~{throughline:*", /may not run scripts on the keys \{throughline:0\}:\*.*~\{throughline:\*/],
      ["+hsetnx", /may not write the key \{throughline\}:config .*grant \+hsetnx/],
      ["+hmget", /may not read the key \{throughline\}:config .*grant \+hmget/],
      ["~{throughline}:config", /may not write the key \{throughline\}:config/],
      ["+info", /needs \(grant \+info\)/],
    ];
    for (const [right, message] of lacking) {
      const rights = RIGHTS.filter((each) => each !== right);
      await withUser(server, rights, (url) => refused(url, message));
    }
  });
});

test("an eviction policy and missing replicas are warned about", async () => {
  await using server = await redisServer({ args: ["--maxmemory-policy", "allkeys-lru"] });
  await using opened = await openConnections(server.url, { durability: "replicated" });
  assert(opened.warnings.some((warning) => warning.includes("maxmemory-policy") && warning.includes("allkeys-lru")));
  assert(opened.warnings.some((warning) => warning.includes("has 0 replicas, redis.replicas asks for 1")));
});

test("Redis from 7.0 and Valkey from 7.2 are accepted", () => {
  const check = (fields: Record<string, string>): void => {
    const dialed = { info: new Map(Object.entries(fields)), address: { host: "h", port: 1 } };
    checkServer(dialed as unknown as Dialed, parseRedisUrl("redis://h:1"));
  };
  check({ redis_version: "7.0.0", redis_mode: "standalone" });
  check({ redis_version: "8.2.1", redis_mode: "standalone" });
  check({ redis_version: "7.2.4", server_name: "valkey", valkey_version: "7.2.5", server_mode: "standalone" });
  check({ redis_version: "7.2.4", server_name: "valkey", valkey_version: "10.0.1", redis_mode: "standalone" });
  assert.throws(() => check({ redis_version: "6.2.14" }), /h:1 is Redis 6\.2\.14; Redis 7\.0 or Valkey 7\.2/);
  assert.throws(() => check({ redis_version: "nonsense" }), StoreSetupError);
});

async function withUser(server: RedisServer, rights: readonly string[], run: (url: string) => Promise<void>): Promise<void> {
  await server.call("ACL", "SETUSER", "limited", "reset", "on", ">pass", ...rights);
  await run(server.url.replace("//", "//limited:pass@"));
}
