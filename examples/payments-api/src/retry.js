/** Retries with exponential backoff. */
import { systemClock } from "./clock.js";

/** Marks an error as one that another attempt may not meet again. */
export class TemporaryError extends Error {
  constructor(message, { retryAfterMs } = {}) {
    super(message);
    this.name = "TemporaryError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** The wait after the given failed attempt (1-based): doubled each time, at most `maxMs`; `random` takes up to half of it away. */
export function backoffMs(attempt, { baseMs, maxMs, random = () => 0 }) {
  const full = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return Math.round(full * (1 - random() / 2));
}

/**
 * Calls `work(attempt)` until it answers, fails for good, or `attempts` are used up; the last error is thrown then.
 * Only a {@link TemporaryError} is tried again; where it names `retryAfterMs`, the wait is not shorter than that.
 */
export async function retry(work, { attempts = 4, baseMs = 100, maxMs = 5_000, random, clock = systemClock, signal } = {}) {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof TemporaryError) || attempt >= attempts) throw error;
      await clock.sleep(Math.max(backoffMs(attempt, { baseMs, maxMs, random }), error.retryAfterMs ?? 0), signal);
    }
  }
}
