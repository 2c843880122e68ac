/** The body of a chunked HTTP/1.1 response, framed here: node:http writes a chunk in four pieces, a third of the whole cost of small frames. */
import type { ServerResponse } from "node:http";
import type { Sink } from "./frame-writer.ts";

/** The last chunk made: hundreds of streams of one task write the same ones, one after the other. */
const last: { body: string | Buffer; chunk: Buffer } = { body: "", chunk: Buffer.alloc(0) };
/** What is larger is not kept: few wait for it, and its making is not what it costs. */
const KEPT = 16 * 1024;

/** A body as one chunk (RFC 9112, 7.1). */
function chunkOf(body: string | Buffer): Buffer {
  if (body === last.body) return last.chunk;
  const head = `${Buffer.byteLength(body).toString(16)}\r\n`;
  const chunk =
    typeof body === "string" ? Buffer.from(`${head}${body}\r\n`) : Buffer.concat([Buffer.from(head), body, Buffer.from("\r\n")]);
  if (body.length <= KEPT) [last.body, last.chunk] = [body, chunk];
  return chunk;
}

/** Writes past node:http once that has sent the headers. */
export class ChunkSink<C extends string | Buffer> implements Sink<C> {
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

  write(body: C): boolean {
    const response = this.#response;
    const { socket } = response;
    const first = !this.begun;
    this.begun = true;
    if (socket === null || !response.chunkedEncoding) return response.write(body);
    if (first) {
      socket.cork();
      response.flushHeaders();
    }
    const going = socket.write(chunkOf(body));
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
