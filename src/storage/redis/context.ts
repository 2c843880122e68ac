/** What the parts of the Redis store share: keys, connections, retries, and what is known of tasks without asking. */
import { TaskError } from "../../core/errors.ts";
import type { Scope } from "../../core/scope.ts";
import type { RepeatKey, TaskMeta } from "../../core/storage.ts";
import { isInterrupted, isTerminal } from "../../core/task.ts";
import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Connections } from "./connection/connections.ts";
import { ShardKeys, shardFor, shardOf } from "./keys.ts";
import type { RedisStorageOptions } from "./storage-options.ts";
import { outcomeUnknown } from "./connection/store-error.ts";

/** A call is tried again for this long while Redis is away for a moment; every operation may be repeated. */
const RETRY_FOR_MS = 600;
const RETRY_PAUSES_MS = [5, 10, 20, 40, 80] as const;
/** A master that has been away for this long is not waited for. */
const AWAY_MS = 250;

/** Most tasks of which facts are remembered. */
const REMEMBERED_TASKS = 20_000;

/** What never changes of a task, and the state that it was last seen in: what its index keys are named after. */
export interface TaskFacts {
  readonly scope: Scope;
  readonly contextId: string;
  state: TaskState;
}

/** How a state is treated by the scripts: running, interrupted, terminal. */
export function kindOfState(state: TaskState): "r" | "i" | "t" {
  if (isTerminal(state)) return "t";
  return isInterrupted(state) ? "i" : "r";
}

/** Shared by all parts of one store. */
export class RedisContext {
  readonly options: RedisStorageOptions;
  readonly connections: Connections;
  /** Told of what an operator should know. */
  readonly warn: (message: string) => void;
  /** Keys of every shard. */
  readonly shards: readonly ShardKeys[];
  readonly #facts = new Map<string, TaskFacts>();

  constructor(options: RedisStorageOptions, connections: Connections, warn: (message: string) => void) {
    this.options = options;
    this.warn = warn;
    this.connections = connections;
    this.shards = Array.from({ length: options.shards }, (_, shard) => new ShardKeys(options.prefix, shard));
  }

  /** Keys of a shard. */
  keys(shard: number): ShardKeys {
    const keys = this.shards[shard];
    if (keys === undefined) throw new RangeError(`no shard ${shard}`);
    return keys;
  }

  /** The keys beside which a task lies; undefined where its id is none of this store. */
  of(taskId: string): ShardKeys | undefined {
    const shard = shardOf(taskId, this.options.shards);
    return shard === undefined ? undefined : this.shards[shard];
  }

  /** The keys beside which a dedupe row lies: its task's where it names one, else those of the task that it would lead to. */
  ofRepeat({ key, taskId }: RepeatKey): ShardKeys {
    return (taskId === undefined ? undefined : this.of(taskId)) ?? this.keys(shardFor(key, this.options.shards));
  }

  /** Notes what a record says. */
  learn({ id, scope, contextId, state }: Pick<TaskMeta, "id" | "scope" | "contextId" | "state">): TaskFacts {
    const facts = { scope, contextId, state };
    this.#facts.delete(id);
    this.#facts.set(id, facts);
    if (this.#facts.size > REMEMBERED_TASKS) {
      const [oldest = ""] = this.#facts.keys();
      this.#facts.delete(oldest);
    }
    return facts;
  }

  /** What is known of a task. */
  known(taskId: string): TaskFacts | undefined {
    return this.#facts.get(taskId);
  }

  forget(taskId: string): void {
    this.#facts.delete(taskId);
  }

  /** The index keys that a change of status touches, in the order of `reindex`. */
  indexKeys(keys: ShardKeys, { scope, contextId, state: old }: TaskFacts, state: TaskState): string[] {
    return [
      keys.index(scope, { contextId: undefined, state: undefined }),
      keys.index(scope, { contextId, state: undefined }),
      keys.index(scope, { contextId: undefined, state: old }),
      keys.index(scope, { contextId, state: old }),
      keys.index(scope, { contextId: undefined, state }),
      keys.index(scope, { contextId, state }),
    ];
  }

  /** When a task at rest goes, after it came to rest. */
  retentionOf(kind: "r" | "i" | "t"): number {
    return kind === "i" ? this.options.interruptedRetentionMs : this.options.retentionMs;
  }

  /** `PUBLISH` or `SPUBLISH` for events; empty where readers wait for a confirmation. */
  get publishEvents(): string {
    return this.connections.durable ? "" : this.connections.publishCommand;
  }

  /**
   * Repeats a step while Redis is away for a moment. Rejects with STORE_UNAVAILABLE where it stays away; its `outcomeUnknown` says whether
   * any attempt may have been carried out. Errors that are not `worthwhile` are passed on at once,
   * and so is every error after `forMs`.
   */
  async retry<T>(
    shard: number,
    step: () => Promise<T>,
    {
      worthwhile = () => true,
      forMs = RETRY_FOR_MS,
    }: { readonly worthwhile?: (error: TaskError) => boolean; readonly forMs?: number } = {},
  ): Promise<T> {
    const began = performance.now();
    let unknown = false;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await step();
      } catch (error) {
        if (!(error instanceof TaskError) || error.reason !== "STORE_UNAVAILABLE" || !worthwhile(error)) throw error;
        unknown ||= outcomeUnknown(error);
        const spent = performance.now() - began;
        const up = this.connections.upSince(shard) !== undefined;
        if (spent > (up ? forMs : AWAY_MS)) throw unknown && !error.outcomeUnknown ? away(error) : error;
      }
      const ms = RETRY_PAUSES_MS[Math.min(attempt, RETRY_PAUSES_MS.length - 1)];
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }
}

function away(cause: TaskError): TaskError {
  const { message, retryAfterMs } = cause;
  return new TaskError("STORE_UNAVAILABLE", message, {
    cause,
    outcomeUnknown: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
