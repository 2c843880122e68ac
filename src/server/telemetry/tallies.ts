/** Sums that are told when metrics are collected. */
import type { Attributes, Counter, UpDownCounter } from "@opentelemetry/api";

/** One sum. */
export interface Tally {
  add(by: number): void;
}

/**
 * Keeps what is counted several times in each call: to tell an instrument of it looks its labels up by a text that is made of them, each time. Added, not
 * observed, when it is told: servers in one process add up.
 */
export class Tallies {
  readonly #tell: (() => void)[] = [];

  /** A sum that goes to an instrument, under these labels; told as zero now, for of what is not there yet no rate is seen. */
  of(instrument: Counter | UpDownCounter, labels: Attributes = {}): Tally {
    instrument.add(0, labels);
    let sum = 0;
    this.#tell.push(() => {
      if (sum !== 0) instrument.add(sum, labels);
      sum = 0;
    });
    return { add: (by) => (sum += by) };
  }

  /** Tells all that has come since the last time. */
  tell(): void {
    for (const tell of this.#tell) tell();
  }
}
