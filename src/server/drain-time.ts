/** How long a drain takes at most. */
import { LAST_REQUEST_MS } from "../worker/deliveries.ts";
import { LAST_APPEND_MS } from "../worker/worker.ts";
import type { ServerOptions } from "./options.ts";

/** What a call needs to answer once its task has ended. */
export const ANSWER_MS = 100;

/**
 * Milliseconds from SIGTERM to the end of the process at most, if the machine has time for it. A supervisor that kills has to wait for longer.
 * Streams have their grace while turns have theirs; a turn that is cut off has one time for its last append and one to be released.
 */
export function longestDrainMs({ drainDelayMs, streamGraceMs, drainMs, stallFlushMs }: ServerOptions): number {
  return drainDelayMs + Math.max(streamGraceMs, drainMs + 2 * LAST_APPEND_MS) + LAST_REQUEST_MS + ANSWER_MS + stallFlushMs;
}
