/** The rights that docs/redis.md lists are enough for a store. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { redisStores } from "../contract/redis-stores.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { storageContract } from "../../src/testing/index.ts";
import { blocksOf, document } from "./markdown.ts";

let server: RedisServer;
let opened = 0;

before(async () => {
  server = await redisServer();
  const line = blocksOf(document("docs/redis.md")).find(({ text }) => text.startsWith("ACL SETUSER"));
  const [command = "", ...words] = (line?.text ?? "").trim().split(" ");
  await server.call(command, ...words);
});

after(async () => {
  // Nothing was refused, not even what is not waited for.
  const refused = await server.call("ACL", "LOG");
  await server[Symbol.asyncDispose]();
  assert.deepEqual(refused, []);
});

storageContract(
  "redis, with the rights of docs/redis.md",
  redisStores(
    () => `redis://throughline:password@127.0.0.1:${server.port}`,
    {},
    () => {
      opened += 1;
      return `throughline:${opened}`;
    },
  ),
);
