/** Time as a dependency: the real one, and one that a test moves by hand. */

/** Real time. A sleep ends early, with the signal's reason, when the signal aborts. */
export const systemClock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", abort, { once: true });
    });
  },
  /** Calls back once; answers a function that calls it off. */
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Time that stands still: a sleep moves it forward and is over at once, and remembers how long it was. */
export class ManualClock {
  slept = [];
  #now;
  #timers = new Set();

  constructor(now = 0) {
    this.#now = now;
  }

  now() {
    return this.#now;
  }

  async sleep(ms, signal) {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.advance(ms);
  }

  after(ms, callback) {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves time and fires what falls due, earliest first. */
  advance(ms) {
    this.#now += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).toSorted((a, b) => a.at - b.at);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.callback();
    }
  }
}
