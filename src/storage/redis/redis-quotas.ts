/** Quotas that all replicas share: a key for each that is not whole, which goes when it is. */
import type { TaskError } from "../../core/errors.ts";
import type { Quota, Quotas, Spent } from "../../core/quotas.ts";
import type { Reply } from "./connection/connections.ts";
import { isReply } from "./connection/store-error.ts";
import type { RedisContext } from "./context.ts";
import { shardFor } from "./keys.ts";
import { list } from "./replies.ts";
import { SCRIPTS } from "./scripts.ts";

/** Long enough to connect to the master that a slot moves to; where that one is gone, calls are not to wait for an operator. */
const REDIRECTED_MS = 50;

/**
 * Counts in Redis. A Redis that is away is not waited for, and what a failover loses of a count is lost. A slot that moves to another
 * master is no reason to lose one, for nothing is away then.
 */
export class RedisQuotas implements Quotas {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  async spend(key: string, { perSecond, burst }: Quota, most: number): Promise<Spent> {
    const { connections, options } = this.#context;
    const keys = this.#context.keys(shardFor(key, options.shards));
    const args = [most, 1000 / perSecond, burst];
    const spend = (): Promise<Reply> => connections.script(keys.shard, SCRIPTS.spend, [keys.quota(key)], args);
    const [granted, retryAfterMs] = list(await this.#context.retry(keys.shard, spend, { worthwhile: isRedirect, forMs: REDIRECTED_MS }));
    return { granted: Number(granted), retryAfterMs: Number(retryAfterMs) };
  }
}

function isRedirect(error: TaskError): boolean {
  return isReply(error, "ASK", "MOVED", "TRYAGAIN");
}
