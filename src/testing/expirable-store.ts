/** Stores in which one lease can be made to run out: in memory by moving the clock, in Redis by moving the lease. */
import type { Lease, Storage } from "../core/storage.ts";
import type { ServerOptions } from "../server/options.ts";
import { MemoryStorage, type MemoryStorageOptions } from "../storage/memory/memory-storage.ts";

/** A store and its hour-glass. */
export interface ExpirableStore {
  readonly storage: Storage;
  /** Lets the lease of this task run out and keeps the others alive. */
  readonly expire: (taskId: string, others: readonly Lease[]) => Promise<void>;
}

/** Bounds of a memory store; its clock is the harness's. */
export type MemoryStoreOptions = Omit<MemoryStorageOptions, "now">;

/** A memory store of one's own. */
export function memoryStore(options: MemoryStoreOptions): ExpirableStore {
  let skewMs = 0;
  const storage = new MemoryStorage({ ...options, now: () => Date.now() + skewMs });
  return {
    storage,
    // Done when it returns: nobody comes in between.
    async expire(_taskId, others) {
      skewMs += options.leaseMs;
      await storage.renew(others.map((lease) => ({ lease, consumed: 0, known: Infinity })));
    },
  };
}

/** A Redis store. Closing it leaves what it has stored. */
export async function redisStore(options: ServerOptions, url: string, agent: string): Promise<ExpirableStore> {
  const [{ RedisStorage }, { Connections }, { ShardKeys, shardOf }, { SCRIPTS }] = await Promise.all([
    import("../storage/redis/redis-storage.ts"),
    import("../storage/redis/connection/connections.ts"),
    import("../storage/redis/keys.ts"),
    import("../storage/redis/scripts.ts"),
  ]);
  const { prefix } = options.redis;
  const storage = await RedisStorage.open({ ...options, ...options.redis, url }, { agent, warn: () => undefined });
  const keysOf = (shard: number): InstanceType<typeof ShardKeys> => new ShardKeys(prefix, shard);
  return {
    storage,
    async expire(taskId) {
      const shardTag = (shard: number): string => keysOf(shard).tag;
      await using connections = await Connections.open({ ...options, ...options.redis, url }, { agent, shardTag, warn: () => undefined });
      const shard = shardOf(taskId, options.redis.shards) ?? 0;
      const keys = keysOf(shard);
      await connections.call(shard, "ZADD", keys.leases, "XX", 0, taskId);
      // Not by a sweep: a store that has just connected leaves expired leases to their owners for a while.
      const names = [keys.leases, keys.ready, keys.task(taskId)];
      await connections.script(shard, SCRIPTS.expire, names, [connections.publishCommand, keys.wake, taskId]);
    },
  };
}
