/** Spends from shared quotas one by one, and asks the store for many at once. */
import { isAway } from "./errors.ts";
import type { Quota, Quotas } from "./quotas.ts";

/** A store that was away is not asked again for so long. */
const AWAY_MS = 1000;
/** Keys beyond this many are looked through for those of no use. */
const MANY = 10_000;

/** Those who wait for one key, and until when nobody can have one. */
interface Line {
  waiting: ((retryAfterMs: number | undefined) => void)[];
  running: boolean;
  /** By performance.now(). A quota never gets whole earlier than that: what others spend only puts it off. */
  emptyUntil: number;
}

/**
 * Spends for all who ask on this replica. Those who ask for one key while the store is asked go together with the next question, and who
 * asks an empty quota is refused without one: the store hears of a key at most once per round trip. Nothing is taken in advance, so the count
 * is exact over all replicas. Where the store is away everybody gets what they ask for.
 */
export class Spender {
  readonly #quotas: Quotas;
  readonly #lines = new Map<string, Line>();
  #awayUntil = 0;

  constructor(quotas: Quotas) {
    this.#quotas = quotas;
  }

  /** Takes one; answers how long to wait where there is none. */
  take(key: string, quota: Quota): Promise<number | undefined> {
    const now = performance.now();
    if (now < this.#awayUntil) return Promise.resolve(undefined);
    const line = this.#line(key, now);
    if (now < line.emptyUntil) return Promise.resolve(line.emptyUntil - now);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    line.waiting.push(resolve);
    if (!line.running) void this.#run(key, line, quota);
    return promise;
  }

  #line(key: string, now: number): Line {
    let line = this.#lines.get(key);
    if (line !== undefined) return line;
    if (this.#lines.size >= MANY)
      for (const [other, { running, emptyUntil }] of this.#lines) if (!running && emptyUntil <= now) this.#lines.delete(other);
    line = { waiting: [], running: false, emptyUntil: 0 };
    this.#lines.set(key, line);
    return line;
  }

  async #run(key: string, line: Line, quota: Quota): Promise<void> {
    line.running = true;
    while (line.waiting.length > 0) {
      const asked = line.waiting;
      line.waiting = [];
      const { granted, retryAfterMs } = await this.#spend(key, quota, asked.length);
      if (retryAfterMs > 0) line.emptyUntil = performance.now() + retryAfterMs;
      for (const [at, resolve] of asked.entries()) resolve(at < granted ? undefined : retryAfterMs);
    }
    line.running = false;
    if (line.emptyUntil <= performance.now()) this.#lines.delete(key);
  }

  async #spend(key: string, quota: Quota, most: number): ReturnType<Quotas["spend"]> {
    try {
      return await this.#quotas.spend(key, quota, most);
    } catch (error) {
      // Limits are there to keep the service up: they are no reason to refuse what it could do.
      if (isAway(error)) this.#awayUntil = performance.now() + AWAY_MS;
      return { granted: most, retryAfterMs: 0 };
    }
  }
}
