import type { TurnLimits } from "./turn-bounds.ts";

/** What bounds the work of a replica. Defaults stand in server/options. */
export interface WorkerOptions {
  /** Name of this replica: who is told of commands. */
  readonly replica: string;
  /** Turns at once; more tasks wait in `ready`. */
  readonly capacity: number;
  /** Tasks owned at once, those whose turn waits for its caller included; more wait in `ready`. */
  readonly maxOwnedTasks: number;
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number;
  /** Time between two renewals of the leases. */
  readonly renewMs: number;
  /** Time between two looks for expired leases, for tasks that wait, and for what is to go. */
  readonly sweepMs: number;
  /** How long an owner keeps what it appended to a shared store, to write it again where a failover lost it. */
  readonly healWindowMs: number;
  /** A turn that has yielded nothing for this long gets WORKING. */
  readonly workingAfterMs: number;
  /** How long a canceled turn may take to end by itself before CANCELED is written. */
  readonly cancelGraceMs: number;
  /** Acquisitions of a resumable turn before it ends FAILED. */
  readonly maxAttempts: number;
  /** Encoded bytes of a Task beyond which it ends FAILED. */
  readonly maxTaskBytes: number;
  /** Of each turn. */
  readonly limits: TurnLimits;
  /** Messages that `history` keeps. */
  readonly historyLimit: number;
  /** How long turns that cannot be resumed may go on during a drain. */
  readonly drainMs: number;
}
