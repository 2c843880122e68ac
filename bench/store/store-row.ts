/** What a row about the Redis store is: it measures ours and its baseline itself, in turns, on a Redis that nobody else uses. */
import type { RedisServer } from "../../test/redis/redis-server.ts";
import type { PairRow } from "../rows/pair-row.ts";

export type StoreRow = PairRow<StoreContext>;

export interface StoreContext {
  /** Started for this round. */
  readonly redis: RedisServer;
  /** Whether to do the least that shows that the row works. */
  readonly quick: boolean;
  /** Where processes that the row starts put their CPU profiles. */
  readonly profileDir: string | undefined;
}
