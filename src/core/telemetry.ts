/** What the domain tells about itself. The server binds these to a logger and to meters; without them they say nothing. */
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** Structured logging: facts first, then a sentence. Nothing of it reaches a caller. */
export interface Log {
  /** Absent where nobody reads it: nothing need be made for it then. */
  debug?(facts: Readonly<Record<string, unknown>>, message: string): void;
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** A log that keeps nothing. */
export const SILENT: Log = { info() {}, warn() {}, error() {} };

/**
 * What became of an owner's append. `refused`: the log had moved on or was over, or a command came in between, and the owner looks again. `fenced`:
 * the lease is another replica's. `failed`: the store did not answer, and is asked again.
 */
export type AppendOutcome = "stored" | "refused" | "fenced" | "failed";

/** What a replica did with a turn that another one, or an earlier attempt, had begun. */
export type Takeover = "resumed" | "failed" | "canceled";

/** What became of the renewal of a lease. `failed`: the store did not answer. */
export type RenewalOutcome = "held" | "fenced" | "failed";

/** What became of an attempt to deliver to a webhook. */
export type DeliveryOutcome = "delivered" | "retry" | "refused" | "gone";

/** What waits in the store, for all replicas. */
export interface Backlog {
  /** Tasks that wait for a replica to take them. */
  readonly waiting: number;
  /** Tasks that have something due for a webhook, which no replica works on. */
  readonly due: number;
}

/** Measures: one method for each kind of fact, called once for each fact, unless it says otherwise. None of them throws. */
export interface Measures {
  /** An owner's append was answered, so many milliseconds after it was asked for. */
  appended(outcome: AppendOutcome, ms: number): void;
  /** A follower that was waiting got a page, so many milliseconds after its first entry was appended, by the clocks of the store and of this replica. */
  handedOver(ms: number): void;
  /** The agent has begun to run. */
  turnBegan(): void;
  /** The agent runs no more. */
  turnOver(): void;
  /** An owner has stored an event that brought its task to rest in this state. */
  cameToRest(state: TaskState): void;
  /** The store was swept. */
  swept(backlog: Backlog): void;
  tookOver(how: Takeover): void;
  /** So many leases were renewed, or were not, in one step. */
  renewed(outcome: RenewalOutcome, leases: number): void;
  /** An attempt to deliver to a webhook is over. */
  posted(outcome: DeliveryOutcome): void;
  /** A webhook gets nothing more until somebody looks at it. */
  parked(): void;
  /** A folded task was asked for; a hit needed at most the entries that came since. */
  snapshotRead(hit: boolean): void;
  /** Bytes of the folded tasks that are kept now. */
  snapshotsKept(bytes: number): void;
  /** A connection to the store stands again after it was lost. */
  reconnected(): void;
}

/** Measures that keep nothing. */
export const UNMEASURED: Measures = {
  appended() {},
  handedOver() {},
  turnBegan() {},
  turnOver() {},
  cameToRest() {},
  swept() {},
  tookOver() {},
  renewed() {},
  posted() {},
  parked() {},
  snapshotRead() {},
  snapshotsKept() {},
  reconnected() {},
};
