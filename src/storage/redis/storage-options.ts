import type { RedisOptions } from "./connection/redis-options.ts";

/** What the Redis store is opened with: how Redis is reached, and how long things last. */
export interface RedisStorageOptions extends RedisOptions {
  /** How long a lease lasts without renewal, in milliseconds. @default 15000 */
  readonly leaseMs: number;
  /** Finished tasks go after this many milliseconds. @default 604800000 (7 days) */
  readonly retentionMs: number;
  /** Interrupted tasks that nobody went on with are named by the sweep after this many milliseconds. @default 2592000000 (30 days) */
  readonly interruptedRetentionMs: number;
  /** Entries that stay readable behind the last one. @default 1000 */
  readonly windowEntries: number;
  /** Bytes of entries that stay readable; the smaller of both counts. @default 1048576 */
  readonly windowBytes: number;
  /** Bytes of a log that are kept for a webhook that lags behind; one that is further behind is parked. @default 16777216 */
  readonly webhookLagBytes: number;
}

/** Everything but the URL has a default. */
export type RedisStorageInit = Partial<RedisStorageOptions> & Pick<RedisOptions, "url">;

const DAY_MS = 24 * 60 * 60 * 1000;

/** The defaults; the server's own options take those of Redis from here. */
export const REDIS_DEFAULTS: Omit<RedisStorageOptions, "url"> = {
  prefix: "throughline",
  shards: 16,
  durability: "local",
  replicas: 1,
  commandTimeoutMs: 800,
  leaseMs: 15_000,
  retentionMs: 7 * DAY_MS,
  interruptedRetentionMs: 30 * DAY_MS,
  windowEntries: 1000,
  windowBytes: 1024 * 1024,
  webhookLagBytes: 16 * 1024 * 1024,
};
