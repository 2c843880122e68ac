/** The contract on six real nodes, while the slot of every store's first shard moves back and forth between masters. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { storageContract } from "../../src/testing/index.ts";
import { type RedisCluster, redisCluster } from "../redis/redis-cluster.ts";
import { prefixesIn, redisStores } from "./redis-stores.ts";

const SLOT = 4711;
/** How long the slot stays before it moves again. */
const STAY_MS = 100;

let cluster: RedisCluster;
const over = new AbortController();
let moves = 0;
let moving: Promise<void>;

before(async () => {
  cluster = await redisCluster({ nodeTimeoutMs: 10_000 });
  moving = keepMoving();
});

after(async () => {
  over.abort();
  await moving;
  await cluster[Symbol.asyncDispose]();
});

storageContract(
  "redis cluster",
  redisStores(() => cluster.url, {}, prefixesIn(SLOT)),
);

test("the slot has moved while the suite ran", () => {
  assert.ok(moves >= 3, `${moves} moves`);
});

async function keepMoving(): Promise<void> {
  while (!over.signal.aborted) {
    await cluster.migrateSlot(SLOT);
    moves += 1;
    await delay(STAY_MS);
  }
}
