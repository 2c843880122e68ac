/** One call: counts the frames of its answer and keeps where the last one lies. */

/** Called with each frame and its number, from 0. */
export type Watch = (frame: Buffer, index: number) => void;

export class StreamCall {
  /** Frames so far. */
  frames = 0;
  readonly #opened = Promise.withResolvers<Buffer>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #watch: Watch | undefined;
  readonly #abort: () => void;
  #canceled = false;
  #over = false;
  #chunk: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  constructor(abort: () => void, watch?: Watch) {
    this.#abort = abort;
    this.#watch = watch;
    // A row awaits the one or the other; the error of both is the same.
    this.#opened.promise.catch(() => {});
    this.#ended.promise.catch(() => {});
  }

  /** The first frame. */
  get opened(): Promise<Buffer> {
    return this.#opened.promise;
  }

  /** The regular end of the stream, or our own cancel; rejects on anything else. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The frame of a call that has one, when it has ended. */
  async only(): Promise<Buffer> {
    await this.ended;
    if (this.frames !== 1) throw new Error(`an answer of ${this.frames} frames`);
    return this.last;
  }

  /** The last frame so far. */
  get last(): Buffer {
    return this.#chunk.subarray(this.#from, this.#to);
  }

  /** Drops the stream; does nothing to one that is over, for its connection may serve another call by now. */
  cancel(): void {
    if (this.#over) return;
    this.#canceled = true;
    this.#abort();
    this.finish();
  }

  /** For drivers: a frame lies in `chunk` at `from` up to `to`. */
  frame(chunk: Buffer, from: number, to: number): void {
    this.#chunk = chunk;
    this.#from = from;
    this.#to = to;
    const index = this.frames++;
    if (index === 0) this.#opened.resolve(this.last);
    this.#watch?.(this.last, index);
  }

  /** For drivers: the stream is over. The first call counts. */
  finish(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    const failure = this.#canceled ? undefined : error;
    if (this.frames === 0) this.#opened.reject(failure ?? new Error("the stream ended without a frame"));
    if (failure === undefined) this.#ended.resolve();
    else this.#ended.reject(failure);
  }
}
