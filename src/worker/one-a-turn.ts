/** Work that can wait, one piece in each turn of the event loop. */

/** Lets those who wait go on in their order, one in each turn: whatever else there is to do comes between two of them, and before the first. */
export class OneATurn {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is its caller's turn. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (this.#waiting.length === 1) setImmediate(this.#step);
    return promise;
  }

  readonly #step = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#step);
  };
}
