/** So many at once; the others wait for their turn, in the order in which they came. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves when it is the caller's turn, which lasts until it is disposed. */
  async turn(): Promise<Disposable> {
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    return { [Symbol.dispose]: () => this.#over() };
  }

  #over(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
