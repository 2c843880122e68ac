/** Server-sent events out: one line per event, as fast as the socket takes them and no faster. */
import { acceptedKey } from "../rpc/call-facts.ts";
import { wireError, type WireError } from "../rpc/errors.ts";
import { type CallContext, readerStalled } from "./call-context.ts";
import type { WriterOptions } from "./frame-writer.ts";
import type { HttpResponse } from "./http-message.ts";
import { StreamedReply } from "./streamed-reply.ts";

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
  readonly #open = new Set<StreamedReply<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SseOptions) {
    this.#options = options;
  }

  /**
   * Sends a stream until it ends, fails or its reader leaves. Rejects with what goes wrong before the first frame: it is a plain reply
   * (C-34). A drained or stalled stream ends cleanly after a whole frame: clients come back on a close and give up on an error.
   */
  async send<T>(response: HttpResponse, context: CallContext, frames: AsyncIterator<T, undefined>, form: SseForm<T>): Promise<void> {
    const stream = new StreamedReply<string>(response, context, "text/event-stream", this.#options);
    context.values.set(acceptedKey, () => stream.open());
    this.#add(stream);
    try {
      for (;;) {
        const next = await frames.next();
        if (next.done === true || stream.gone) break;
        const text = eventText(form.frame(next.value), form.eventId(next.value));
        const going = stream.push(text);
        if (going === undefined || (await going) !== "stalled") continue;
        context.failed(readerStalled(context));
        return await stream.giveUp();
      }
      if (!stream.opened) throw context.signal.reason ?? new TypeError("a stream without a frame");
    } catch (thrown) {
      context.failed(thrown);
      if (!stream.opened) throw thrown;
      const error = wireError(thrown);
      if (error.reason !== "STREAM_DRAINED" && error.reason !== "STREAM_STALLED") void stream.push(eventText(form.error(error)));
    } finally {
      this.#remove(stream);
      await frames.return?.();
      stream.end();
    }
  }

  #add(stream: StreamedReply<string>): void {
    this.#open.add(stream);
    const quietMs = this.#options.keepaliveMs / 2;
    this.#timer ??= setInterval(() => {
      for (const one of this.#open) if (one.quietFor(quietMs)) void one.push(": keep-alive\n\n");
    }, quietMs).unref();
  }

  #remove(stream: StreamedReply<string>): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The last event made: hundreds of streams of one task write the same ones, one after the other. */
const last = { json: "", event: "" };
/** What is larger is not kept: few wait for it, and its making is not what it costs. */
const KEPT = 16 * 1024;

function eventText(json: string, id?: string): string {
  if (id !== undefined) return `id: ${id}\ndata: ${json}\n\n`;
  if (json.length > KEPT) return `data: ${json}\n\n`;
  if (json !== last.json) [last.json, last.event] = [json, `data: ${json}\n\n`];
  return last.event;
}
