/** Frames on their way from a socket to whoever iterates over them. */

/** Frames that wait for their reader before the source is stopped, and below which it goes on. */
const HIGH_WATER = 64;
const LOW_WATER = 16;

/** Where frames come from. */
export interface FrameSource {
  pause(): void;
  resume(): void;
  /** The reader has left, or cannot go on: let go of the connection or stream. */
  cancel(): void;
}

/** How a stream ends: with an error, or cleanly. */
type Ending = { readonly error: unknown } | "clean";

/**
 * An iterator that a source pushes into. Frames are decoded when they are asked for; where that throws, the stream ends with what was
 * thrown. A source that is faster than its reader is paused.
 */
export class Incoming<R, T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: FrameSource;
  readonly #decode: (frame: R) => T;
  readonly #frames: R[] = [];
  /** Frames before this one are taken. */
  #taken = 0;
  readonly #waiting: PromiseWithResolvers<IteratorResult<T, undefined>>[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #ending: Ending | undefined;
  #paused = false;

  constructor(source: FrameSource, decode: (frame: R) => T) {
    this.#source = source;
    this.#decode = decode;
  }

  /** Resolves when nothing more comes, or nobody reads any more; frames may still wait. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** A frame has come. */
  push(frame: R): void {
    if (this.#ending !== undefined) return;
    const reader = this.#waiting.shift();
    if (reader !== undefined) {
      this.#settle(reader, frame);
      return;
    }
    this.#frames.push(frame);
    if (this.#paused || this.#frames.length - this.#taken < HIGH_WATER) return;
    this.#paused = true;
    this.#source.pause();
  }

  /** Nothing comes any more. What has come is still read, before the error. */
  end(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#ended.resolve();
    for (const reader of this.#waiting.splice(0)) this.#finish(reader);
  }

  /** As {@link end}, at once: what has come is dropped, and the source is left. Nothing where the stream has ended already. */
  abort(error: unknown): void {
    if (this.#ending !== undefined) return;
    this.#drop();
    this.end({ error });
    this.#source.cancel();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const reader = Promise.withResolvers<IteratorResult<T, undefined>>();
    if (this.#taken < this.#frames.length) this.#settle(reader, this.#take());
    else if (this.#ending === undefined) this.#waiting.push(reader);
    else this.#finish(reader);
    return reader.promise;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#leave();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<T, undefined>> {
    this.#leave();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): R {
    const frame = this.#frames[this.#taken] as R;
    this.#taken += 1;
    if (this.#taken === this.#frames.length) this.#drop();
    if (this.#paused && this.#frames.length - this.#taken <= LOW_WATER) {
      this.#paused = false;
      this.#source.resume();
    }
    return frame;
  }

  #settle(reader: PromiseWithResolvers<IteratorResult<T, undefined>>, frame: R): void {
    try {
      reader.resolve({ done: false, value: this.#decode(frame) });
    } catch (error) {
      this.#leave();
      reader.reject(error);
    }
  }

  /** An error is told once; after that the stream has ended. */
  #finish(reader: PromiseWithResolvers<IteratorResult<T, undefined>>): void {
    const ending = this.#ending;
    this.#ending = "clean";
    if (ending === undefined || ending === "clean") reader.resolve({ done: true, value: undefined });
    else reader.reject(ending.error);
  }

  #leave(): void {
    this.#drop();
    this.end("clean");
    this.#ending = "clean";
    this.#source.cancel();
  }

  #drop(): void {
    this.#frames.length = 0;
    this.#taken = 0;
  }
}
