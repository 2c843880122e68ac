/** The contract where an entry counts as stored when a replica has it, and where it does when it is on the disk. */
import { after, before } from "node:test";
import { storageContract } from "../../src/testing/index.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { redisStores } from "./redis-stores.ts";

let master: RedisServer;
let replica: RedisServer;

before(async () => {
  master = await redisServer({ appendonly: "always" });
  replica = await redisServer({ args: ["--replicaof", "127.0.0.1", `${master.port}`] });
  // A replica that has just come says for a second that it has nothing.
  await until("the replica confirms", 10_000, async () => {
    await master.call("SET", "written", "1");
    return Number(await master.call("WAIT", 1, 1000)) === 1;
  });
  await master.call("DEL", "written");
});

after(async () => {
  await Promise.all([replica, master].map((server) => server[Symbol.asyncDispose]()));
});

storageContract(
  "redis, replicated",
  redisStores(() => master.url, { durability: "replicated" }),
);
storageContract(
  "redis, fsync",
  redisStores(() => master.url, { durability: "fsync" }),
);
