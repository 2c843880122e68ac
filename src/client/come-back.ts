/** What comes after a cut: its user is told, and it is waited for a while. */
import type { A2AError } from "./a2a-error.ts";
import type { ClientOptions } from "./client-options.ts";
import { backoffMs, type Waker } from "./pause.ts";

/** A connection of a run that was lost. */
export interface Cut {
  /** Undefined where the task is not known yet: the message is sent again. */
  readonly taskId: string | undefined;
  /** How many in a row, from 1: it begins anew with whatever comes that was not known. */
  readonly losses: number;
  /** Undefined where the stream ended as if it were over, and the task is not. */
  readonly cause: A2AError | undefined;
  /** How long until the next attempt. */
  readonly pauseMs: number;
}

/** Whether a server that has failed so wants to be left alone for longer than its caller has patience. */
export function isPatienceOver({ patienceMs }: ClientOptions, { retryAfterMs = 0 }: A2AError): boolean {
  return retryAfterMs > patienceMs;
}

/** Tells of a cut and waits as long as the server asks for, else longer each time, or until it is woken. Rejects with the signal's reason. */
export async function comeBack(
  { reconnect, reconnecting }: ClientOptions,
  { signal, waker, ...cut }: Omit<Cut, "pauseMs"> & { readonly signal: AbortSignal; readonly waker: Waker },
): Promise<void> {
  waker.throwIfOver(signal);
  const pauseMs = cut.cause?.retryAfterMs ?? backoffMs(cut.losses - 1, reconnect);
  reconnecting?.({ ...cut, pauseMs });
  await waker.pause(pauseMs, signal);
}
