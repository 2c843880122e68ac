/** How answers are read: the frames in their bodies, and what was wrong with them. */
import type { IncomingHttpHeaders } from "node:http2";
import type { StreamCall } from "./stream-call.ts";

/** Finds the frames in the body of one answer. */
export interface BodyReader {
  feed(bytes: Buffer): void;
  /** The answer is whole: says what was wrong with it. `trailers` are its last headers; empty over HTTP/1.1. */
  end(trailers: IncomingHttpHeaders): string | undefined;
}

/** How answers are read. */
export interface Format {
  /** Begins the media type of an answer in this format; any other is an error, as is any status but 200. */
  readonly contentType: string;
  /** Answers a reader that gives the frames to `call`. */
  read(call: StreamCall): BodyReader;
}

/** An answer of any type, whose body is its one frame. */
export const wholeBody: Format = {
  contentType: "",
  read: (call) => {
    const chunks: Buffer[] = [];
    return {
      feed: (bytes) => void chunks.push(bytes),
      end: () => {
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
        call.frame(body, 0, body.length);
        return undefined;
      },
    };
  },
};

/** Reads one answer into `call`, from its head on. */
export class Answer {
  readonly #call: StreamCall;
  readonly #format: Format;
  readonly #refusal: Buffer[] = [];
  #reader: BodyReader | undefined;
  #head = "";

  constructor(call: StreamCall, format: Format) {
    this.#call = call;
    this.#format = format;
  }

  head(status: number, contentType: string): void {
    this.#head = `HTTP ${status}, ${contentType || "of no type"}`;
    if (status === 200 && contentType.startsWith(this.#format.contentType)) this.#reader = this.#format.read(this.#call);
  }

  body(bytes: Buffer): void {
    if (this.#reader === undefined) this.#refusal.push(bytes);
    else this.#reader.feed(bytes);
  }

  end(trailers: IncomingHttpHeaders): void {
    const wrong = this.#reader === undefined ? `${this.#head}: ${Buffer.concat(this.#refusal).toString()}` : this.#reader.end(trailers);
    this.#call.finish(wrong === undefined ? undefined : new Error(wrong));
  }

  fail(error: Error): void {
    this.#call.finish(error);
  }
}
