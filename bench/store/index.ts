/** The rows about the Redis store, in the order in which they are run. */
import { appends } from "./appends.ts";
import { follower } from "./follower.ts";
import { idleSubscriptions } from "./idle-subscriptions.ts";
import { lists } from "./lists.ts";
import { longLog } from "./long-log.ts";
import { memoryCost } from "./memory-cost.ts";
import type { StoreRow } from "./store-row.ts";
import { subscribeLong } from "./subscribe-long.ts";
import { twoReplicas } from "./two-replicas.ts";

export const STORE_ROWS: readonly StoreRow[] = [
  follower,
  appends,
  longLog,
  subscribeLong,
  idleSubscriptions,
  lists,
  memoryCost,
  twoReplicas,
];
