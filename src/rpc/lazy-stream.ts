/** A stream that is opened when its first frame is asked for. */

/**
 * Opens on the first `next()` and then hands every `next()` straight to the opened iterator: a layer that costs nothing per frame.
 * What `open` throws is the first `next()`'s rejection: an error before the first frame (C-34).
 */
export function lazyStream<T>(open: () => Promise<AsyncIterator<T, undefined>>): AsyncIterableIterator<T, undefined> {
  let inner: AsyncIterator<T, undefined> | undefined;
  let left = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      inner = await open();
      if (left) await inner.return?.();
      this.next = (): Promise<IteratorResult<T, undefined>> => (inner as AsyncIterator<T, undefined>).next();
      return inner.next();
    },
    async return() {
      left = true;
      await inner?.return?.();
      return { done: true, value: undefined };
    },
  };
}
