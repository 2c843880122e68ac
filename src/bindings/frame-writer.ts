/** One stream's way to its socket: frames of a turn of the event loop leave together, and a slow reader holds them up, not the memory. */
import { type Egress, LARGE_FRAME, type Wait, waitForReader } from "./progress.ts";

/** What frames are written to: an HTTP/1.1 response or an HTTP/2 stream. */
export interface Sink<C> {
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly destroyed: boolean;
  write(chunk: C): boolean;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Bounds of one stream. */
export interface WriterOptions {
  /** Bytes that may wait for a slow reader's socket before its stream is no longer read from the log. */
  readonly maxQueuedBytes: number;
  /** A reader that takes nothing for this long has stalled. */
  readonly stalledStreamMs: number;
  /** How long the end of a stalled stream may take to be flushed before it is cut. */
  readonly stallFlushMs: number;
  readonly egress: Egress;
}

/** Frames are joined into one write up to this many bytes. */
const JOIN = 64 * 1024;

/** Joins, writes, and waits for the reader. */
export class FrameWriter<C extends string | Buffer> {
  readonly #sink: Sink<C>;
  readonly #options: WriterOptions;
  readonly #signal: AbortSignal;
  #frames: C[] = [];
  #bytes = 0;
  #scheduled = false;
  /** Whether a frame has left in part only: an end now would end inside of it. */
  cutsFrame = false;
  /** When bytes last went to the socket, by performance.now(). */
  lastWrite: number = performance.now();

  constructor(sink: Sink<C>, options: WriterOptions, signal: AbortSignal) {
    this.#sink = sink;
    this.#options = options;
    this.#signal = signal;
  }

  /** Takes a frame. Answers a promise where the next one should wait. */
  push(frame: C): Promise<Wait> | undefined {
    if (frame.length > LARGE_FRAME) return this.#pushLarge(frame);
    this.#add(frame);
    return this.#bytes + this.#sink.writableLength >= this.#options.maxQueuedBytes ? this.#drained() : undefined;
  }

  /** Hands what was pushed to the socket. */
  flush(): void {
    this.#scheduled = false;
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#options.egress.sent += this.#bytes;
    this.#bytes = 0;
    this.lastWrite = performance.now();
    if (!this.#sink.destroyed) this.#sink.write(joined(frames));
  }

  /** Lets the end of a stalled stream be flushed; `cut` is called where that takes too long. */
  async giveUp(end: () => void, cut: () => void): Promise<void> {
    if (this.cutsFrame) return cut();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    for (const event of ["close", "finish"]) this.#sink.once(event, () => resolve(true));
    const timer = setTimeout(() => resolve(false), this.#options.stallFlushMs);
    end();
    const flushed = await promise;
    clearTimeout(timer);
    if (!flushed) cut();
  }

  /** Writes a large frame in slices: a reader that takes them slowly makes progress with each. */
  async #pushLarge(frame: C): Promise<Wait> {
    // Its reader comes back, when there may be room.
    if (this.#options.egress.isCrowded(frame.length)) return "stalled";
    using _place = await this.#options.egress.acquire(frame.length, this.#signal);
    this.flush();
    this.cutsFrame = true;
    for (let at = 0, end = 0; at < frame.length; at = end) {
      end = sliceEnd(frame, at + JOIN);
      this.#add((typeof frame === "string" ? frame.slice(at, end) : frame.subarray(at, end)) as C);
      if ((await this.#drained()) === "stalled") return "stalled";
      if (this.#sink.destroyed) break;
    }
    this.cutsFrame = false;
    return "drained";
  }

  #add(frame: C): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#bytes >= JOIN) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.flush());
    }
  }

  async #drained(): Promise<Wait> {
    this.flush();
    const sink = this.#sink;
    if (!sink.writableNeedDrain || sink.destroyed) return "drained";
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = (): void => resolve();
    const events = ["drain", "close", "error"];
    for (const event of events) sink.on(event, over);
    try {
      return await waitForReader(promise, () => sink.writableLength, this.#options.stalledStreamMs);
    } finally {
      for (const event of events) sink.off(event, over);
    }
  }
}

function joined<C extends string | Buffer>(frames: readonly C[]): C {
  const [first] = frames as readonly [C, ...C[]];
  if (frames.length === 1) return first;
  return (typeof first === "string" ? frames.join("") : Buffer.concat(frames as readonly Buffer[])) as C;
}

/** Where a slice of a frame may end: not between the halves of a surrogate pair, which are encoded together. */
function sliceEnd(frame: string | Buffer, end: number): number {
  if (typeof frame !== "string" || end >= frame.length) return Math.min(end, frame.length);
  const last = frame.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
