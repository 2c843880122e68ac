/** Rate limits: how many requests a caller may make in a window that slides. */
import { systemClock } from "./clock.js";

export class RateLimiter {
  #limit;
  #windowMs;
  #clock;
  #calls = new Map();

  constructor({ limit, windowMs, clock = systemClock }) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** Counts a call. Refused calls are not counted; `retryAfterMs` says when the oldest one leaves the window. */
  take(caller) {
    const now = this.#clock.now();
    const recent = (this.#calls.get(caller) ?? []).filter((at) => at > now - this.#windowMs);
    this.#calls.set(caller, recent);
    if (recent.length >= this.#limit) return { allowed: false, remaining: 0, retryAfterMs: recent[0] + this.#windowMs - now };
    recent.push(now);
    return { allowed: true, remaining: this.#limit - recent.length, retryAfterMs: 0 };
  }

  /** Waits until a call is allowed, and counts it. */
  async acquire(caller, signal) {
    for (;;) {
      const { allowed, retryAfterMs } = this.take(caller);
      if (allowed) return;
      await this.#clock.sleep(retryAfterMs, signal);
    }
  }
}
