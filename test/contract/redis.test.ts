import { after, before } from "node:test";
import { storageContract } from "../../src/testing/index.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { redisStores } from "./redis-stores.ts";

let server: RedisServer;

before(async () => {
  server = await redisServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

storageContract(
  "redis",
  redisStores(() => server.url),
);
