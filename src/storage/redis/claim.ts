/** Whose data lies under the prefix: written at the first start, and again where Redis has lost everything meanwhile. */
import { isAway } from "../../core/errors.ts";
import { checkConfig } from "./connection/start-checks.ts";
import { StoreSetupError } from "./connection/store-error.ts";
import type { RedisContext } from "./context.ts";

/** Keeps the claim of this agent and its number of shards. */
export class Claim {
  readonly #context: RedisContext;
  readonly #agent: string;
  #lost = false;

  constructor(context: RedisContext, agent: string) {
    this.#context = context;
    this.#agent = agent;
  }

  /** Whether the prefix belongs to somebody else now: this replica must not go on as if nothing were. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Looks again; never rejects. A Cluster is left alone: the nodes that hold our shards need not hold the claim. */
  async renew(): Promise<void> {
    const { connections, options, warn } = this.#context;
    if (connections.publishCommand === "SPUBLISH") return;
    try {
      await checkConfig((name, args) => connections.call(0, name, ...args), options, this.#agent);
      this.#lost = false;
    } catch (error) {
      if (isAway(error)) return;
      this.#lost = error instanceof StoreSetupError;
      warn(`${error instanceof Error ? error.message : String(error)}; this replica is not ready any more`);
    }
  }
}
