/** What a lease begins with, and what all leases of a replica share. */
import type { Agent } from "../core/agent.ts";
import type { Fold } from "../core/fold.ts";
import type { Snapshots } from "../core/snapshots.ts";
import type { Lease, Storage } from "../core/storage.ts";
import type { Log, Measures } from "../core/telemetry.ts";
import type { Tracing } from "../core/tracing.ts";
import type { WorkerOptions } from "./options.ts";

/** How a lease began. */
export interface LeaseStart {
  readonly lease: Lease;
  /** The task so far; the lease's own from now on. */
  readonly fold: Fold;
  readonly consumed: number;
  readonly attempts: number;
  /** A cancel request waits. */
  readonly cancelRequested: boolean;
  /** The turn that was given the command at `consumed` was cut off. Default false. */
  readonly begun?: boolean;
}

/** What all leases of a replica share. */
export interface LeaseContext {
  readonly agent: Agent;
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly options: WorkerOptions;
  readonly log: Log;
  readonly measures: Measures;
  /** Default: traces only pass through. */
  readonly tracing?: Tracing | undefined;
}
