/** Server-sent events out: one line per event, as fast as the socket takes them and no faster. */
import type { ServerResponse } from "node:http";
import { acceptedKey } from "../rpc/call-facts.ts";
import { wireError, type WireError } from "../rpc/errors.ts";
import type { CallContext } from "./call-context.ts";
import { FrameWriter, type Sink, type WriterOptions } from "./frame-writer.ts";
import type { Wait } from "./progress.ts";

/** Bounds of event streams. */
export interface SseOptions extends WriterOptions {
  /** Time between two keep-alive comments on a quiet stream (SV-12). */
  readonly keepaliveMs: number;
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
   * (C-34). A drained or stalled stream ends cleanly after a whole frame: clients come back on a close and give up on an error.
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

/** The last event and the last chunk made: hundreds of streams of one task write the same ones, one after the other. */
const last = { json: "", event: "", text: "", chunk: Buffer.alloc(0) };
/** What is larger is not kept: few wait for it, and its making is not what it costs. */
const KEPT = 16 * 1024;

function eventText(json: string, id?: string): string {
  if (id !== undefined) return `id: ${id}\ndata: ${json}\n\n`;
  if (json.length > KEPT) return `data: ${json}\n\n`;
  if (json !== last.json) [last.json, last.event] = [json, `data: ${json}\n\n`];
  return last.event;
}

/** A text as one chunk of a chunked body (RFC 9112, 7.1). */
function chunkOf(text: string): Buffer {
  if (text === last.text) return last.chunk;
  const chunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  if (text.length <= KEPT) [last.text, last.chunk] = [text, chunk];
  return chunk;
}

/**
 * Writes the body of a chunked response (RFC 9112, 7.1). Once the headers are out it frames the chunks itself, in one string: node:http
 * writes a chunk in four pieces, which for 500 small frames at a time is a third of the whole cost.
 */
class ChunkSink implements Sink<string> {
  readonly #response: ServerResponse;
  /** Whether node:http has sent the headers: with its first chunk. */
  begun = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get writableLength(): number {
    return this.#response.writableLength;
  }

  get writableNeedDrain(): boolean {
    // node:http tells of a drain only after one of its own writes asked for it: the socket knows of ours.
    return this.#response.socket?.writableNeedDrain ?? this.#response.writableNeedDrain;
  }

  get destroyed(): boolean {
    return this.#response.destroyed;
  }

  write(text: string): boolean {
    const response = this.#response;
    const { socket } = response;
    const first = !this.begun;
    this.begun = true;
    if (socket === null || !response.chunkedEncoding) return response.write(text);
    if (first) {
      socket.cork();
      response.flushHeaders();
    }
    const going = socket.write(chunkOf(text));
    if (first) socket.uncork();
    return going;
  }

  on(event: string, listener: () => void): this {
    (event === "drain" ? (this.#response.socket ?? this.#response) : this.#response).on(event, listener);
    return this;
  }

  once(event: string, listener: () => void): this {
    this.#response.once(event, listener);
    return this;
  }

  off(event: string, listener: () => void): this {
    (event === "drain" ? (this.#response.socket ?? this.#response) : this.#response).off(event, listener);
    return this;
  }
}

/** One response on its way. */
class EventStream {
  readonly #response: ServerResponse;
  readonly #context: CallContext;
  readonly #sink: ChunkSink;
  readonly #writer: FrameWriter<string>;
  /** Whether the headers are out, so that an error can only be an event. */
  opened = false;

  constructor(response: ServerResponse, context: CallContext, options: SseOptions) {
    this.#response = response;
    this.#context = context;
    this.#sink = new ChunkSink(response);
    this.#writer = new FrameWriter<string>(this.#sink, (frames) => frames.join(""), options, context.signal);
  }

  /** Sends the headers, if they are not out; with the first frame, where that comes in the same turn of the loop. */
  open(): void {
    if (this.opened || this.#response.destroyed) return;
    this.opened = true;
    for (const [name, value] of this.#context.responseHeaders()) this.#response.setHeader(name, value);
    this.#response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" });
    // Alone only where no frame follows in this turn of the loop.
    setImmediate(() => {
      if (!this.#sink.begun && !this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  /** Takes an event; answers a promise where the next one should wait. */
  push(text: string): Promise<Wait> | undefined {
    this.open();
    return this.#writer.push(text);
  }

  /** A comment where nothing was sent for a while and the reader takes what it gets. */
  keepAlive(everyMs: number): void {
    if (
      !this.opened ||
      this.#writer.cutsFrame ||
      this.#response.writableNeedDrain ||
      performance.now() - this.#writer.lastWrite < everyMs / 2
    )
      return;
    void this.#writer.push(": keep-alive\n\n");
  }

  end(): void {
    if (!this.opened) return;
    const { socket } = this.#response;
    socket?.cork();
    this.#writer.flush();
    if (!this.#response.destroyed) this.#response.end();
    socket?.uncork();
  }

  /** Ends a stalled stream cleanly if its reader still takes what is queued, else hard; its connection is not used again. */
  async giveUp(): Promise<void> {
    const { socket } = this.#response;
    await this.#writer.giveUp(
      () => this.end(),
      () => void this.#response.destroy(),
    );
    socket?.destroySoon();
  }
}
