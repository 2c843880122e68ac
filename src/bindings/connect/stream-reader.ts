/** The frames of a Connect stream, read by hand: a frame costs its bytes, and no chain of generators. */
import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import type { Frames } from "../client-call.ts";
import { ENVELOPE_BYTES } from "../envelope.ts";
import { networkError } from "./network-error.ts";

/** What a reader is made of. */
export interface StreamReaderInit {
  readonly output: DescMessage;
  readonly body: AsyncIterable<Uint8Array>;
  readonly header: Headers;
  /** Filled with what the last envelope says. */
  readonly trailer: Headers;
  readonly maxMessageBytes: number;
}

type Step = IteratorResult<Message, undefined>;

/** Reads envelopes as they are asked for. Throws as the other transports do. */
export class StreamReader implements Frames {
  readonly ended: Promise<void>;
  readonly #init: StreamReaderInit;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #ended = Promise.withResolvers<void>();
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the next envelope begins. */
  #at = 0;
  #done = false;
  #failure: ConnectError | undefined;

  constructor(init: StreamReaderInit) {
    this.#init = init;
    this.#chunks = init.body[Symbol.asyncIterator]();
    this.ended = this.#ended.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    try {
      const step = this.#ready();
      return step === undefined ? this.#pull() : Promise.resolve(step);
    } catch (error) {
      return Promise.reject(this.#fail(error));
    }
  }

  abort(error: ConnectError): void {
    if (this.#done) return;
    this.#failure = error;
    this.#finish();
    this.#leave();
  }

  return(): Promise<Step> {
    this.#finish();
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** The next frame if it is in hand, or the end. */
  #ready(): Step | undefined {
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      this.#failure = undefined;
      throw failure;
    }
    if (this.#done) return { done: true, value: undefined };
    const begin = this.#at + ENVELOPE_BYTES;
    if (this.#bytes.length < begin) return undefined;
    const [flags, length] = [this.#bytes[this.#at] ?? 0, this.#bytes.readUInt32BE(this.#at + 1)];
    const { maxMessageBytes, output } = this.#init;
    if (length > maxMessageBytes) throw new ConnectError(`a frame of more than ${maxMessageBytes} bytes`, Code.ResourceExhausted);
    if (this.#bytes.length < begin + length) return undefined;
    this.#at = begin + length;
    const content = this.#bytes.subarray(begin, this.#at);
    if ((flags & compressedFlag) !== 0) throw new ConnectError("protocol error: a compressed frame that nobody asked for", Code.Internal);
    if ((flags & endStreamFlag) !== 0) return this.#end(content);
    try {
      return { done: false, value: fromBinary(output, content) };
    } catch (cause) {
      throw new ConnectError(`a frame is no ${output.typeName}`, Code.Internal, undefined, undefined, cause);
    }
  }

  #end(content: Buffer): Step {
    const { metadata, error } = endStreamFromJson(content);
    if (error !== undefined) {
      this.#init.header.forEach((value, name) => error.metadata.append(name, value));
      throw error;
    }
    metadata.forEach((value, name) => this.#init.trailer.set(name, value));
    this.#finish();
    this.#leave();
    return { done: true, value: undefined };
  }

  async #pull(): Promise<Step> {
    try {
      for (;;) {
        const chunk = await this.#chunks.next();
        if (chunk.done === true && this.#failure === undefined && !this.#done) {
          const what = this.#at < this.#bytes.length ? "incomplete envelope" : "missing EndStreamResponse";
          throw new ConnectError(`protocol error: ${what}`, Code.InvalidArgument);
        }
        if (chunk.done !== true) this.#add(chunk.value);
        const step = this.#ready();
        if (step !== undefined) return step;
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #add(chunk: Uint8Array): void {
    const rest = this.#bytes.subarray(this.#at);
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#bytes = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#at = 0;
  }

  #fail(error: unknown): ConnectError {
    const failure = this.#failure ?? networkError(error);
    this.#failure = undefined;
    this.#finish();
    this.#leave();
    return failure;
  }

  #finish(): void {
    this.#done = true;
    this.#ended.resolve();
  }

  /** Lets go of the connection's stream; what it says of that is of no matter. */
  #leave(): void {
    this.#chunks.return?.().catch(() => undefined);
  }
}
