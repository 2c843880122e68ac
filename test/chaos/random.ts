/** Chance that is the same for the same seed: what a run does derives from one text. */

/** A stream of random numbers named by its seed. */
export class Random {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    // FNV-1a: seeds that differ in one digit begin far apart.
    let hash = 0x811c9dc5;
    for (let at = 0; at < seed.length; at += 1) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** A stream of its own: what it gives does not depend on how much was taken from this one. */
  fork(name: string | number): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** From 0 up to, not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the list. Throws where it is empty. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("nothing to pick from");
    return list[this.between(0, list.length - 1)] as T;
  }

  /** The list in another order. */
  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list];
    const order: T[] = [];
    while (rest.length > 0) order.push(...rest.splice(this.between(0, rest.length - 1), 1));
    return order;
  }

  /** A wait whose mean is `mean`, at most five times that: how long until the next of many independent arrivals. */
  wait(mean: number): number {
    return Math.min(-Math.log(1 - this.next()) * mean, 5 * mean);
  }

  /** An id in the form of a UUID. */
  uuid(): string {
    const digits = Array.from({ length: 32 }, () => this.between(0, 15).toString(16)).join("");
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
}
