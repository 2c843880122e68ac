/** How far turns may go: never far ahead of their readers, so that faults find both in their middle. */
export class Pace {
  #limit: number;
  #waiting = 0;
  #wake = Promise.withResolvers<void>();

  /** Turns wait behind their first `limit` steps. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Turns that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Turns may take so many steps in all; never fewer than before. */
  allow(limit: number): void {
    this.#limit = Math.max(this.#limit, limit);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Resolves when the step is allowed; rejects with the signal's reason. */
  async reach(step: number, signal?: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    this.#waiting += 1;
    try {
      signal?.throwIfAborted();
      while (step > this.#limit) await Promise.race([this.#wake.promise, promise]);
    } finally {
      this.#waiting -= 1;
      signal?.removeEventListener("abort", abort);
    }
  }
}
