/** How much of all logs a replica holds in memory while receivers take their time. */
import type { Entry } from "../core/log-entry.ts";

/** Bytes of pages. Whoever finds no room goes on with one event, and reads the rest again. */
export class PageRoom {
  readonly #limit: number;
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Holds a page until the place is disposed; undefined where there is no room. */
  hold(entries: readonly Entry[]): Disposable | undefined {
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes.length, 0);
    if (this.#held + bytes > this.#limit) return undefined;
    this.#held += bytes;
    return {
      [Symbol.dispose]: () => {
        this.#held -= bytes;
      },
    };
  }
}
