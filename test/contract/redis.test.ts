import { after, before } from "node:test";
import { RedisStorage } from "../../src/storage/redis/redis-storage.ts";
import { storageContract } from "../../src/testing/index.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";

let server: RedisServer;
let opened = 0;

before(async () => {
  server = await redisServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

storageContract("redis", async (options) => {
  opened += 1;
  const storage = await RedisStorage.open(
    {
      ...options,
      url: server.url,
      prefix: `t${opened}`,
      shards: 4,
      durability: "local",
      replicas: 1,
      commandTimeoutMs: 800,
      healWindowMs: 10_000,
    },
    { agent: "contract", warn: () => undefined },
  );
  return { storage };
});
