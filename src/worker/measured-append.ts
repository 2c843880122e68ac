/** An append that tells what became of it. */
import { RefusedError } from "../core/errors.ts";
import type { Entry } from "../core/log-entry.ts";
import type { Batch, Lease, Storage } from "../core/storage.ts";
import { isInterrupted, isTerminal } from "../core/task.ts";
import type { AppendOutcome, Measures } from "../core/telemetry.ts";

/** Who appends, and who is told. */
interface Appender {
  readonly storage: Storage;
  readonly lease: Lease;
  readonly measures: Measures;
}

/** Appends once. Rejects as the store does. */
export async function measuredAppend({ storage, lease, measures }: Appender, batch: Batch): Promise<readonly Entry[]> {
  const asked = performance.now();
  let outcome: AppendOutcome = "failed";
  try {
    const entries = await storage.append(lease, batch);
    outcome = "stored";
    const { state } = batch.head ?? {};
    if (state !== undefined && (isTerminal(state) || isInterrupted(state))) measures.cameToRest(state);
    return entries;
  } catch (error) {
    if (error instanceof RefusedError) outcome = error.refusal === "FENCED" ? "fenced" : "refused";
    throw error;
  } finally {
    measures.appended(outcome, performance.now() - asked);
  }
}
