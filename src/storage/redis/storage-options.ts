import type { RedisOptions } from "./redis-options.ts";

/** What the Redis store is opened with: how Redis is reached, and how long things last. */
export interface RedisStorageOptions extends RedisOptions {
  /** How long a lease lasts without renewal, in milliseconds. */
  readonly leaseMs: number;
  /** Finished tasks go after this many milliseconds. */
  readonly retentionMs: number;
  /** Interrupted tasks that nobody went on with are named by the sweep after this many milliseconds. */
  readonly interruptedRetentionMs: number;
  /** Entries that stay readable behind the last one. */
  readonly windowEntries: number;
  /** Bytes of entries that stay readable; the smaller of both counts. */
  readonly windowBytes: number;
}
