/** Waiting, with an end. */

/** What a timer takes: Node fires longer ones at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after `ms`, at most 24 days, or rejects with the signal's reason. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = (): void => reject(signal.reason);
  const timer = setTimeout(resolve, Math.min(ms, LONGEST_MS));
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** The pauses of one run, which can be cut short: something has happened that it should look at. */
export class Waker {
  readonly #life: AbortSignal;
  #woken = Promise.withResolvers<void>();

  /** `life`: of the client, whose end ends every pause. */
  constructor(life: AbortSignal) {
    this.#life = life;
  }

  /** Throws the reason of the signal, or that the client is closed. */
  throwIfOver(signal: AbortSignal): void {
    signal.throwIfAborted();
    this.#life.throwIfAborted();
  }

  /** As {@link pause}; resolves at once where it is woken, or was since the last pause. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    try {
      await Promise.race([pause(ms, AbortSignal.any([signal, this.#life, ended.signal])), this.#woken.promise]);
    } finally {
      ended.abort();
      this.#woken = Promise.withResolvers();
    }
  }

  /** Ends the pause that is under way, or else the next one. */
  wake(): void {
    this.#woken.resolve();
  }
}

/** Settles as `promise` does, or rejects with the signal's reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The pause before attempt `attempt`, from 0: twice the one before, at most `maxMs`, between half of it and the whole. */
export function backoffMs(attempt: number, { baseMs, maxMs }: { readonly baseMs: number; readonly maxMs: number }): number {
  const whole = Math.min(baseMs * 2 ** attempt, maxMs);
  return whole / 2 + (Math.random() * whole) / 2;
}
