/** Idempotency keys: the same request sent twice is done once, and both callers get the one answer. */
import { systemClock } from "./clock.js";
import { PaymentError } from "./errors.js";

export class IdempotencyStore {
  #entries = new Map();
  #ttlMs;
  #clock;

  /** A key is remembered for `ttlMs` after its answer. */
  constructor({ ttlMs, clock = systemClock }) {
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get size() {
    return this.#entries.size;
  }

  /**
   * Runs `work` unless the key is known. A caller that comes while it runs waits for the same answer. What failed is
   * forgotten, so that it may be tried again; the same key with another fingerprint is refused.
   */
  async run(key, fingerprint, work) {
    if (!/^[\w.:-]{1,64}$/.test(key)) throw new PaymentError("invalid_key", "a key has 1 to 64 letters, digits or . : - _", 400);
    const known = this.#entries.get(key);
    if (known) {
      if (known.fingerprint !== fingerprint) throw new PaymentError("key_reused", "the key belongs to another request", 409);
      return { value: await known.answer, replayed: true };
    }
    const entry = { fingerprint, answer: Promise.resolve().then(work) };
    this.#entries.set(key, entry);
    try {
      const value = await entry.answer;
      entry.stopExpiry = this.#clock.after(this.#ttlMs, () => this.#forget(key, entry));
      return { value, replayed: false };
    } catch (error) {
      this.#forget(key, entry);
      throw error;
    }
  }

  /** Forgets all keys and calls their timers off. */
  close() {
    for (const { stopExpiry } of this.#entries.values()) stopExpiry?.();
    this.#entries.clear();
  }

  #forget(key, entry) {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}
