/** A signal that follows another one for a while at most. */

/**
 * Aborts with its parent, or by itself after `ms`. Dispose of it when what it bounds is over: unlike `AbortSignal.any` with a timeout it is
 * kept by nothing then, which would otherwise be all that a call has made, until the time is up.
 */
export class BoundedSignal implements Disposable {
  readonly #abort = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #late = false;

  constructor(parent: AbortSignal, ms: number) {
    this.#parent = parent;
    this.#timer = setTimeout(() => this.#timeOut(), ms);
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether it was the time that ended it. */
  get late(): boolean {
    return this.#late;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.#abort.abort(this.#parent.reason);

  #timeOut(): void {
    this.#late = !this.#abort.signal.aborted;
    this.#abort.abort(new DOMException("it took too long", "TimeoutError"));
  }
}
