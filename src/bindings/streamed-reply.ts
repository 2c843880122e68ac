/** A reply that is written frame by frame, over either version of HTTP. */
import type { OutgoingHttpHeaders } from "node:http";
import type { CallContext } from "./call-context.ts";
import { ChunkSink } from "./chunk-sink.ts";
import { FrameWriter, type Sink, type WriterOptions } from "./frame-writer.ts";
import { cut, http1Of, type HttpResponse, isGone, streamOf } from "./http-message.ts";
import type { Wait } from "./progress.ts";

/** What keeps caches and proxies from holding frames back, where the call says nothing else. */
const UNBUFFERED = { "cache-control": "no-cache", "x-accel-buffering": "no" };

/** One reply on its way, with status 200. */
export class StreamedReply<C extends string | Buffer> {
  readonly #response: HttpResponse;
  readonly #context: CallContext;
  readonly #contentType: string;
  readonly #sink: Sink<C>;
  readonly #writer: FrameWriter<C>;
  /** Whether the headers are out. */
  opened = false;

  constructor(response: HttpResponse, context: CallContext, contentType: string, options: WriterOptions) {
    this.#response = response;
    this.#context = context;
    this.#contentType = contentType;
    const http1 = http1Of(response);
    this.#sink = http1 === undefined ? (streamOf(response) as Sink<C>) : new ChunkSink<C>(http1);
    this.#writer = new FrameWriter<C>(this.#sink, options, context.signal);
  }

  /** Whether nobody reads any more. */
  get gone(): boolean {
    return isGone(this.#response);
  }

  /** Sends the headers, if they are not out; with the first frame, where that comes in the same turn of the loop. */
  open(): void {
    const { gone } = this;
    if (this.opened || gone) return;
    this.opened = true;
    const headers: OutgoingHttpHeaders = { ...UNBUFFERED, ...Object.fromEntries(this.#context.responseHeaders()) };
    this.#response.writeHead(200, { ...headers, "content-type": this.#contentType });
    const sink = this.#sink;
    if (!(sink instanceof ChunkSink)) return;
    // Alone only where no frame follows in this turn of the loop.
    setImmediate(() => {
      if (!sink.begun && !this.gone) http1Of(this.#response)?.flushHeaders();
    });
  }

  /** Takes a frame; answers a promise where the next one should wait. */
  push(frame: C): Promise<Wait> | undefined {
    this.open();
    return this.#writer.push(frame);
  }

  /** Whether nothing was sent for so long, the last frame is whole, and the reader takes what it gets. */
  quietFor(ms: number): boolean {
    return this.opened && !this.#writer.cutsFrame && !this.#sink.writableNeedDrain && performance.now() - this.#writer.lastWrite >= ms;
  }

  /** Ends the reply after what was pushed and, where there is one, its last frame. */
  end(last?: C): void {
    if (last !== undefined) void this.push(last);
    if (!this.opened) return;
    const socket = http1Of(this.#response)?.socket;
    socket?.cork();
    this.#writer.flush();
    if (!this.gone) this.#response.end();
    socket?.uncork();
  }

  /** Ends the reply of a reader that has stalled: cleanly if it still takes what is queued, else hard. Over HTTP/1.1 its connection is not used again. */
  async giveUp(last?: C): Promise<void> {
    const socket = http1Of(this.#response)?.socket;
    await this.#writer.giveUp(
      () => this.end(last),
      () => cut(this.#response),
    );
    socket?.destroySoon();
  }
}
