/** Quotas of one process. */
import { type Quota, type Quotas, spendFrom, type Spent } from "../../core/quotas.ts";

/** Keys beyond this many are looked through for those whose quota is whole. */
const MANY = 10_000;

/** Counts in memory. */
export class MemoryQuotas implements Quotas {
  readonly #now: () => number;
  /** When each quota is whole again. */
  readonly #wholeAt = new Map<string, number>();
  #sweepAt = MANY;

  constructor(now: () => number) {
    this.#now = now;
  }

  async spend(key: string, quota: Quota, most: number): Promise<Spent> {
    const now = this.#now();
    const { wholeAt, ...spent } = spendFrom(this.#wholeAt.get(key) ?? 0, now, quota, most);
    this.#wholeAt.set(key, wholeAt);
    if (this.#wholeAt.size > this.#sweepAt) this.#sweep(now);
    return spent;
  }

  #sweep(now: number): void {
    for (const [key, wholeAt] of this.#wholeAt) if (wholeAt <= now) this.#wholeAt.delete(key);
    this.#sweepAt = Math.max(MANY, 2 * this.#wholeAt.size);
  }
}
