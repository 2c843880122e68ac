/** Redis stores of a test, and Redis itself behind their backs. */
import type { Entry } from "../../src/core/log-entry.ts";
import { ShardKeys, shardOf } from "../../src/storage/redis/keys.ts";
import { RedisStorage } from "../../src/storage/redis/redis-storage.ts";
import { streamEntries } from "../../src/storage/redis/replies.ts";
import type { Reply } from "../../src/storage/redis/connection/reply.ts";
import type { RedisStorageOptions } from "../../src/storage/redis/storage-options.ts";
import { type ContractOptions, Lab } from "../../src/testing/contract/lab.ts";
import type { RedisServer } from "../redis/redis-server.ts";

/** Where the stores of a test keep their keys. */
export const PLACE = { prefix: "test", shards: 4 } as const;

/** A store of its own, as a replica has it: several of them share one Redis. Closed with the lab. */
export function openLab(url: string, options: Partial<ContractOptions & RedisStorageOptions> = {}): Promise<Lab> {
  return Lab.open(
    async (contract) => ({
      storage: await RedisStorage.open(
        {
          url,
          ...PLACE,
          durability: "local",
          replicas: 1,
          commandTimeoutMs: 800,
          ...contract,
          ...options,
        },
        { agent: "test", warn: () => undefined },
      ),
    }),
    options,
  );
}

/** The names beside which a task lies. */
export function keysOf(taskId: string): ShardKeys {
  const shard = shardOf(taskId, PLACE.shards);
  if (shard === undefined) throw new TypeError(`${taskId} is no id of this store`);
  return new ShardKeys(PLACE.prefix, shard);
}

/** The log as Redis has it, past every store. */
export async function storedLog(server: RedisServer, taskId: string): Promise<Entry[]> {
  return streamEntries((await server.binary("XRANGE", keysOf(taskId).log(taskId), "-", "+")) as Reply);
}

/** Names of all keys, whoever made them. */
export async function allKeys(server: RedisServer): Promise<string[]> {
  const keys: string[] = [];
  let cursor = "0";
  do {
    const [next, found] = (await server.call("SCAN", cursor, "COUNT", 1000)) as [string, string[]];
    keys.push(...found);
    cursor = next;
  } while (cursor !== "0");
  return keys.toSorted();
}

/** Channels that anybody listens on. */
export async function allChannels(server: RedisServer): Promise<string[]> {
  return ((await server.call("PUBSUB", "CHANNELS")) as string[]).toSorted();
}
