/** What keeps the logs of a run, as the run sees it: faults of its own, and the logs as they are stored. */
import type { Entry } from "../../src/core/log-entry.ts";
import type { Random } from "./random.ts";

/** Who looks after a task by the store's own record. */
export type Custody = "owned" | "waiting" | "nobody";

/** A fault: begins, lasts, and is over when it resolves. */
export type Fault = (random: Random) => Promise<void>;

/** The store behind all replicas. */
export interface ChaosStore extends AsyncDisposable {
  /** What can go wrong with the store itself, by name. One at a time. */
  readonly faults: Readonly<Record<string, Fault>>;
  /** The whole log of a task as it is stored; empty where there is none. */
  logOf(taskId: string): Promise<readonly Entry[]>;
  custodyOf(taskId: string): Promise<Custody>;
}
