/** Whose prefix it is, and what the user may do: seen at the start, and again where Redis has lost its data. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RedisStorage, StoreSetupError } from "../../src/storage/redis/index.ts";
import { redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { allKeys } from "./store-bed.ts";

const facts = (agent: string, warnings: string[] = []): { agent: string; warn: (message: string) => void } => ({
  agent,
  warn: (message) => void warnings.push(message),
});

test("a Redis that has lost everything is claimed again: another agent or number of shards is refused as before", async () => {
  await using server = await redisServer();
  const storage = await RedisStorage.open({ url: server.url, shards: 4 }, facts("one"));
  try {
    await server.kill();
    await server.start();
    await until("the claim is written again", 10_000, async () => (await allKeys(server)).includes("{throughline}:config"));
    await assert.rejects(RedisStorage.open({ url: server.url, shards: 4 }, facts("two")), StoreSetupError);
    await assert.rejects(RedisStorage.open({ url: server.url, shards: 8 }, facts("one")), StoreSetupError);
    assert.equal(storage.available(), true);
  } finally {
    await storage.close();
  }
});

test("a replica whose prefix was claimed by another agent meanwhile says so and is not ready any more", async () => {
  await using server = await redisServer();
  const warnings: string[] = [];
  const storage = await RedisStorage.open({ url: server.url }, facts("one", warnings));
  try {
    await server.call("HSET", "{throughline}:config", "agent", "two");
    await server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await until("it has looked again", 10_000, async () => warnings.some((warning) => warning.includes('belongs to the agent "two"')));
    assert.equal(storage.available(), false);
  } finally {
    await storage.close();
  }
});

test("a command that the ACL user lacks is named at the start, all of them at once; nothing is left behind", async () => {
  await using server = await redisServer();
  const rights = ["on", ">secret", "~*", "&*", "+@all", "-xadd", "-hstrlen"];
  await server.call("ACL", "SETUSER", "some", ...rights);
  const url = server.url.replace("redis://", "redis://some:secret@");
  await assert.rejects(
    RedisStorage.open({ url }, facts("one")),
    (error) => error instanceof StoreSetupError && /^redis\.url: .*grant \+hstrlen \+xadd$/.test(error.message),
  );
  await server.call("ACL", "SETUSER", "some", "+xadd", "+hstrlen");
  const storage = await RedisStorage.open({ url }, facts("one"));
  await storage.close();
  assert.deepEqual(await allKeys(server), ["{throughline}:config"]);
});
