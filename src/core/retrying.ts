/** Waiting for a store that is away: every operation may be repeated. */
import { isAway } from "./errors.ts";
import { pause } from "./pause.ts";

/** Waits between two attempts. */
const RETRY_MS = [20, 50, 100, 250, 500, 1000] as const;

/** Repeats a step while the store is away, unless `over` says that nobody waits for it any more: then the last error is thrown. */
export async function untilAnswered<T>(step: () => Promise<T>, over: () => boolean): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await step();
    } catch (error) {
      if (!isAway(error) || over()) throw error;
      await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 1000);
    }
  }
}
