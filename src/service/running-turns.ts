/** How many tasks of one owner are at work at once, over all replicas. */
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../core/errors.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";

/** A replica counts again after this share of the bound was begun on it: so much more each other replica may have let through. */
const COUNT_EVERY = 1 / 8;
/** An owner that has too many is not counted again for so long. */
const REFUSE_MS = 250;
/** Nobody knows when a turn ends. */
const RETRY_MS = 1000;
/** Owners beyond this many are forgotten, and counted anew. */
const REMEMBERED = 10_000;

/** What is known of an owner. */
interface Known {
  /** Tasks at work when they were counted last. */
  counted: number;
  /** Begun on this replica since. */
  begun: number;
  /** By performance.now(). */
  refusedUntil: number;
}

/** Counts by the index of the store: it knows every task that works or waits for a replica, wherever it was sent. Interrupted ones do not count. */
export class RunningTurns {
  readonly #storage: Pick<Storage, "list">;
  readonly #limit: number;
  readonly #known = new Map<string, Known>();
  readonly #counting = new Map<string, Promise<Known>>();

  constructor(storage: Pick<Storage, "list">, limit: number) {
    this.#storage = storage;
    this.#limit = limit;
  }

  /** Counts one that is about to begin. Throws RESOURCE_EXHAUSTED where its owner has too many. */
  async begin(scope: Scope): Promise<void> {
    const key = scopeKey(scope);
    let known = this.#known.get(key);
    if (known === undefined || (this.#isDue(known) && performance.now() >= known.refusedUntil)) known = await this.#count(key, scope);
    if (known.counted + known.begun >= this.#limit) {
      const message = `${this.#limit} tasks are at work already that are the caller's: a new one may begin when one of them has ended`;
      throw new TaskError("RESOURCE_EXHAUSTED", message, { metadata: { limit: "turns" }, retryAfterMs: RETRY_MS });
    }
    known.begun += 1;
  }

  #isDue({ counted, begun }: Known): boolean {
    return counted + begun >= this.#limit || begun >= this.#limit * COUNT_EVERY;
  }

  /** One count at a time. */
  #count(key: string, scope: Scope): Promise<Known> {
    let counting = this.#counting.get(key);
    if (counting === undefined) {
      counting = this.#counted(key, scope).finally(() => this.#counting.delete(key));
      this.#counting.set(key, counting);
    }
    return counting;
  }

  async #counted(key: string, scope: Scope): Promise<Known> {
    const totals = [TaskState.SUBMITTED, TaskState.WORKING].map(async (state) => {
      const { total } = await this.#storage.list(scope, { contextId: undefined, state, since: undefined }, undefined, 1);
      return total;
    });
    const counted = (await Promise.all(totals)).reduce((sum, total) => sum + total, 0);
    const known = { counted, begun: 0, refusedUntil: counted >= this.#limit ? performance.now() + REFUSE_MS : 0 };
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }
}
