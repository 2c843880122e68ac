/** Server-sent events out: one line per event, as fast as the socket takes them and no faster. */
import type { ServerResponse } from "node:http";
import { acceptedKey } from "../rpc/call-facts.ts";
import { wireError, type WireError } from "../rpc/errors.ts";
import type { CallContext } from "./call-context.ts";
import { type Egress, LARGE_FRAME, waitForReader } from "./progress.ts";

/** Bounds of event streams. */
export interface SseOptions {
  /** Time between two keep-alive comments on a quiet stream (SV-12). */
  readonly keepaliveMs: number;
  /** Bytes that may wait for a slow reader's socket before its stream is no longer read from the log. */
  readonly maxQueuedBytes: number;
  /** A reader that takes nothing for this long is ended. */
  readonly stalledStreamMs: number;
  /** How long the end of a stalled stream may take to be flushed before its socket is destroyed. */
  readonly stallFlushMs: number;
  readonly egress: Egress;
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

  /**
   * Sends a stream until it ends, fails or its reader leaves. Rejects with what goes wrong before the first frame: it is a plain reply
   * (C-34). A drained or stalled stream ends cleanly after a whole frame: clients come back on a close and give up on an error (DESIGN 6).
   */
  async send<T>(response: ServerResponse, context: CallContext, frames: AsyncIterator<T, undefined>, form: SseForm<T>): Promise<void> {
    const stream = new EventStream(response, context, this.#options);
    context.values.set(acceptedKey, () => stream.open());
    this.#add(stream);
    try {
      for (;;) {
        const next = await frames.next();
        if (next.done === true || response.destroyed) break;
        const text = eventText(form.frame(next.value), form.eventId(next.value));
        const going = stream.push(text);
        if (going !== undefined && (await going) === "stalled") return await stream.giveUp();
      }
      if (!stream.opened) throw context.signal.reason ?? new TypeError("a stream without a frame");
    } catch (thrown) {
      if (!stream.opened) throw thrown;
      const error = wireError(thrown);
      if (error.reason !== "STREAM_DRAINED" && error.reason !== "STREAM_STALLED") void stream.push(eventText(form.error(error)));
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
  readonly #context: CallContext;
  readonly #options: SseOptions;
  #joined = "";
  #scheduled = false;
  #lastWrite = performance.now();
  /** Whether the headers are out, so that an error can only be an event. */
  opened = false;

  constructor(response: ServerResponse, context: CallContext, options: SseOptions) {
    this.#response = response;
    this.#context = context;
    this.#options = options;
  }

  /** Sends the headers, if they are not out. */
  open(): void {
    if (this.opened || this.#response.destroyed) return;
    this.opened = true;
    for (const [name, value] of this.#context.responseHeaders()) this.#response.setHeader(name, value);
    this.#response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" });
    process.nextTick(() => {
      if (this.#joined === "" && !this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  /** Takes a frame; all frames of one turn of the loop leave in one write. Answers a promise where the next one should wait. */
  push(text: string): Promise<"drained" | "stalled"> | undefined {
    this.open();
    if (text.length > LARGE_FRAME) return this.#pushLarge(text);
    this.#join(text);
    return this.#response.writableLength + this.#joined.length >= this.#options.maxQueuedBytes ? this.#drained() : undefined;
  }

  /** A keep-alive comment where nothing was sent for a while and the reader takes what it gets. */
  keepAlive(everyMs: number): void {
    if (!this.opened || performance.now() - this.#lastWrite < everyMs / 2 || this.#response.writableNeedDrain) return;
    this.#join(": keep-alive\n\n");
  }

  end(): void {
    if (!this.opened) return;
    this.#flush();
    if (!this.#response.destroyed) this.#response.end();
  }

  /** Ends a stalled stream cleanly if its reader still takes what is queued, else hard. */
  async giveUp(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.once("close", resolve).once("finish", resolve);
    const timer = setTimeout(resolve, this.#options.stallFlushMs);
    this.end();
    await promise;
    clearTimeout(timer);
    if (!this.#response.writableFinished) this.#response.destroy();
  }

  async #pushLarge(text: string): Promise<"drained" | "stalled"> {
    using _place = await this.#options.egress.acquire(text.length, this.#context.signal);
    this.#join(text);
    return this.#drained();
  }

  #join(text: string): void {
    this.#joined += text;
    if (this.#joined.length >= JOIN) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(() => this.#flush());
    }
  }

  async #drained(): Promise<"drained" | "stalled"> {
    this.#flush();
    const response = this.#response;
    if (!response.writableNeedDrain || response.destroyed) return "drained";
    const { promise, resolve } = Promise.withResolvers<void>();
    const events = ["drain", "close", "error"];
    for (const event of events) response.on(event, resolve);
    try {
      return await waitForReader(promise, () => response.writableLength, this.#options.stalledStreamMs);
    } finally {
      for (const event of events) response.off(event, resolve);
    }
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
