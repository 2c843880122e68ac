/** A stream that is opened when its first frame is asked for. */

/**
 * Opens on the first `next()` and then hands every `next()` straight to the opened iterator: a layer that costs nothing per frame.
 * What `open` throws is the first `next()`'s rejection: an error before the first frame (C-34).
 */
export function lazyStream<T>(open: () => Promise<AsyncIterator<T, undefined>>): AsyncIterableIterator<T, undefined> {
  return new LazyStream(open);
}

class LazyStream<T> implements AsyncIterableIterator<T, undefined> {
  /** Taken when it is used: what it holds on to is needed only until then. */
  #open: (() => Promise<AsyncIterator<T, undefined>>) | undefined;
  #inner: AsyncIterator<T, undefined> | undefined;
  #left = false;

  constructor(open: () => Promise<AsyncIterator<T, undefined>>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#inner === undefined ? this.#first() : this.#inner.next();
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#left = true;
    await this.#inner?.return?.();
    return { done: true, value: undefined };
  }

  async #first(): Promise<IteratorResult<T, undefined>> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || this.#left) return { done: true, value: undefined };
    const inner = await open();
    this.#inner = inner;
    if (this.#left) await inner.return?.();
    return inner.next();
  }
}
