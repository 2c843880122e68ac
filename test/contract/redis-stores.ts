/** Fresh stores for the contract on servers that a test file shares: each under a prefix of its own. */
import { RedisStorage, type RedisStorageOptions } from "../../src/storage/redis/index.ts";
import { slotOf } from "../../src/storage/redis/connection/slot.ts";
import type { OpenStore } from "../../src/testing/contract/lab.ts";

/** Few, so that every one of them is met. */
const SHARDS = 4;

/** Opens stores at the URL. `prefixes` names them; default: any that was not there before. */
export function redisStores(url: () => string, options: Partial<RedisStorageOptions> = {}, prefixes: () => string = counted): OpenStore {
  return async (bounds) => {
    const storage = await RedisStorage.open(
      {
        ...bounds,
        url: url(),
        prefix: prefixes(),
        shards: SHARDS,
        durability: "local",
        replicas: 1,
        commandTimeoutMs: 800,
        ...options,
      },
      { agent: "contract", warn: () => undefined },
    );
    return { storage };
  };
}

let opened = 0;

function counted(): string {
  opened += 1;
  return `t${opened}`;
}

/** Prefixes whose first shard lies in the given slot. */
export function prefixesIn(slot: number): () => string {
  return () => {
    for (;;) {
      const prefix = counted();
      if (slotOf(`{${prefix}:0}`) === slot) return prefix;
    }
  };
}
