/** What keeps the logs of a run, as the run sees it: faults of its own, and the logs as they are stored. */
import type { Entry } from "../../src/core/log-entry.ts";
import type { Logs } from "./aof.ts";
import type { Random } from "./random.ts";

/** Who looks after a task by the store's own record. */
export type Custody = "owned" | "waiting" | "nobody";

/** A fault: begins, lasts, and is over when it resolves. */
export type Fault = (random: Random) => Promise<void>;

/** A server of the store was replaced by one that was behind. */
export interface Loss {
  /** All that the old one had in the end. */
  readonly had: Logs;
  /** What the new one had of it before anybody could write to it. */
  readonly kept: Logs;
}

/** What a store that may lose entries has lost. */
export interface Losses {
  /** Where they were lost on purpose. */
  readonly planned: readonly Loss[];
  /** Everything that its servers have ever had. */
  readonly histories: readonly Logs[];
}

/** The store behind all replicas. */
export interface ChaosStore extends AsyncDisposable {
  /** What can go wrong with the store itself, by name. One at a time. */
  readonly faults: Readonly<Record<string, Fault>>;
  /** What it may have lost so far, where its durability allows that. */
  losses?(): Losses;
  /** Every log with what has been trimmed of it. Absent where that is not kept. */
  archive?(): Logs;
  /** The log of a task as it is stored; empty where there is none. */
  logOf(taskId: string): Promise<readonly Entry[]>;
  custodyOf(taskId: string): Promise<Custody>;
}
