/** Server-sent events in, cut anywhere. */
import { Code, ConnectError } from "@connectrpc/connect";
import { createParser, type EventSourceParser } from "eventsource-parser";

/** One event. */
export interface ServerEvent {
  /** Its name; `message` where it has none. */
  readonly name: string;
  /** The lines of its data, joined by LF. */
  readonly data: string;
  /** What a reconnection after this event would send as `Last-Event-ID`; empty: nothing. */
  readonly lastEventId: string;
}

/** Reads the body of a stream of events, as the HTML standard says: always UTF-8, whatever the media type claims. */
export class EventReader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #parser: EventSourceParser;
  readonly #maxBytes: number;
  #lastEventId = "";
  #tooLarge = false;

  /** `onEvent` is called from within {@link feed}. An event of more than `maxBytes` characters is not taken. */
  constructor(maxBytes: number, onEvent: (event: ServerEvent) => void) {
    this.#maxBytes = maxBytes;
    this.#parser = createParser({
      maxBufferSize: maxBytes,
      onId: (id) => (this.#lastEventId = id),
      onEvent: ({ event = "message", data }) => onEvent({ name: event, data, lastEventId: this.#lastEventId }),
      onError: ({ type }) => (this.#tooLarge ||= type === "max-buffer-size-exceeded"),
    });
  }

  /** That of the last event with one, its data or not. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Takes the next bytes. Throws RESOURCE_EXHAUSTED where an event grows too large; nothing can be read after that. */
  feed(bytes: Uint8Array): void {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    if (this.#tooLarge) throw new ConnectError(`an event of more than ${this.#maxBytes} bytes`, Code.ResourceExhausted);
  }
}
