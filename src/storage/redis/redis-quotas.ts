/** Quotas that all replicas share: a key for each that is not whole, which goes when it is. */
import type { Quota, Quotas, Spent } from "../../core/quotas.ts";
import type { RedisContext } from "./context.ts";
import { shardFor } from "./keys.ts";
import { list } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** Counts in Redis. A Redis that is away is not waited for, and what a failover loses of a count is lost. */
export class RedisQuotas implements Quotas {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  async spend(key: string, { perSecond, burst }: Quota, most: number): Promise<Spent> {
    const { connections, options } = this.#context;
    const keys = this.#context.keys(shardFor(key, options.shards));
    const args = [most, 1000 / perSecond, burst];
    const [granted, retryAfterMs] = list(await connections.script(keys.shard, SCRIPTS.spend, [keys.quota(key)], args));
    return { granted: Number(granted), retryAfterMs: Number(retryAfterMs) };
  }
}
