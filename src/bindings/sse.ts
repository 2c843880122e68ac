/** Server-sent events out: one line per event, as fast as the socket takes them and no faster. */
import type { ServerResponse } from "node:http";
import { wireError, type WireError } from "../rpc/errors.ts";
import type { CallContext } from "./call-context.ts";

/** Bounds of event streams. */
export interface SseOptions {
  /** Time between two keep-alive comments on a quiet stream (SV-12). */
  readonly keepaliveMs: number;
  /** Bytes that may wait for a slow reader's socket before its stream is no longer read from the log. */
  readonly maxQueuedBytes: number;
}

/** How a binding writes its frames. */
export interface SseForm<T> {
  /** The JSON text of a frame, on one line. */
  readonly frame: (frame: T) => string;
  /** The id line of a frame, where it has one. */
  readonly eventId: (frame: T) => string | undefined;
  /** The JSON text of an error in mid-stream (C-32). */
  readonly error: (error: WireError) => string;
}

/** Frames are joined into one write up to this many characters. */
const JOIN = 64 * 1024;

/** The open event streams of a server, with one timer for all of them. */
export class EventStreams {
  readonly #options: SseOptions;
  readonly #open = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SseOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Sends a stream whose first frame is in hand, until it ends, fails or its reader leaves. A drained or stalled stream ends cleanly after
   * a whole frame: clients come back on a close and give up on an error (DESIGN 6).
   */
  async send<T>(
    response: ServerResponse,
    context: CallContext,
    first: T,
    frames: AsyncIterator<T, undefined>,
    form: SseForm<T>,
  ): Promise<void> {
    const stream = new EventStream(response, this.#options.maxQueuedBytes);
    stream.open(context);
    this.#add(stream);
    try {
      for (let frame = first; ;) {
        stream.push(eventText(form.frame(frame), form.eventId(frame)));
        if (stream.full) await stream.drained();
        const next = await frames.next();
        if (next.done === true || response.destroyed) break;
        frame = next.value;
      }
    } catch (thrown) {
      const error = wireError(thrown);
      if (error.reason !== "STREAM_DRAINED" && error.reason !== "STREAM_STALLED") stream.push(eventText(form.error(error)));
    } finally {
      this.#remove(stream);
      await frames.return?.();
      stream.end();
    }
  }

  #add(stream: EventStream): void {
    this.#open.add(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#open) one.keepAlive(this.#options.keepaliveMs);
    }, this.#options.keepaliveMs / 2).unref();
  }

  #remove(stream: EventStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function eventText(json: string, id?: string): string {
  return id === undefined ? `data: ${json}\n\n` : `id: ${id}\ndata: ${json}\n\n`;
}

/** One response on its way. */
class EventStream {
  readonly #response: ServerResponse;
  readonly #maxQueuedBytes: number;
  #joined = "";
  #scheduled = false;
  #lastWrite = performance.now();

  constructor(response: ServerResponse, maxQueuedBytes: number) {
    this.#response = response;
    this.#maxQueuedBytes = maxQueuedBytes;
  }

  open(context: CallContext): void {
    for (const [name, value] of context.responseHeaders()) this.#response.setHeader(name, value);
    this.#response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" });
  }

  /** Takes a frame; all frames of one turn of the loop leave in one write. */
  push(text: string): void {
    this.#joined += text;
    if (this.#joined.length >= JOIN) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(() => this.#flush());
    }
  }

  get full(): boolean {
    return this.#response.writableLength + this.#joined.length >= this.#maxQueuedBytes;
  }

  /** Resolves when the socket has taken what was written, or the reader has left. */
  async drained(): Promise<void> {
    this.#flush();
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = (): void => resolve();
    for (const event of ["drain", "close", "error"]) this.#response.on(event, over);
    try {
      if (this.#response.writableNeedDrain && !this.#response.destroyed) await promise;
    } finally {
      for (const event of ["drain", "close", "error"]) this.#response.off(event, over);
    }
  }

  keepAlive(everyMs: number): void {
    if (performance.now() - this.#lastWrite < everyMs / 2 || this.#response.writableNeedDrain) return;
    this.push(": keep-alive\n\n");
  }

  end(): void {
    this.#flush();
    if (!this.#response.destroyed) this.#response.end();
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#joined === "") return;
    const text = this.#joined;
    this.#joined = "";
    this.#lastWrite = performance.now();
    if (!this.#response.destroyed) this.#response.write(text);
  }
}
