/** HTTP/2 in clear text with prior knowledge: one connection of node:http2, nothing of ours. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import type { Duplex, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Headers } from "./caller.ts";
import type { HttpReply, HttpRequest } from "./http.ts";

/** The head of a reply, and its body as it comes. */
export interface OpenReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
}

/** A reply over HTTP/2. */
export interface Http2Reply extends OpenReply {
  readonly body: ClientHttp2Stream;
}

/** What the tests of HTTP/2 itself want of a connection. */
export interface Http2ClientOptions {
  /** The connection's bytes. Default: a socket of its own. */
  readonly socket?: Duplex;
  /** Bytes that may come ahead on a stream. */
  readonly initialWindowSize?: number;
}

/** One connection. */
export class Http2Client {
  readonly session: ClientHttp2Session;

  constructor(port: number, { socket, initialWindowSize = 1024 * 1024 }: Http2ClientOptions = {}) {
    this.session = connect(`http://127.0.0.1:${port}`, {
      settings: { initialWindowSize },
      // What is to be sent counts as well.
      maxSessionMemory: 1000,
      ...(socket && { createConnection: () => socket }),
    });
    this.session.on("error", () => undefined);
  }

  /** Sends a request; resolves with the head of its reply. Rejects where the stream or the connection ends before. */
  open({ method, target, headers = [], body, signal }: HttpRequest): Promise<Http2Reply> {
    const stream = this.begin(method, target, headers);
    signal?.addEventListener("abort", () => stream.close(8), { once: true });
    stream.end(body);
    return replyOf(stream);
  }

  /** A request whose body is the caller's to write. */
  begin(method: string, target: string, headers: readonly (readonly [string, string])[] = []): ClientHttp2Stream {
    const values = Object.groupBy(headers, ([name]) => name.toLowerCase());
    const grouped = Object.entries(values).map(([name, all = []]) => [
      name,
      all.length === 1 ? all[0]?.[1] : all.map(([, value]) => value),
    ]);
    return this.session.request({ ":method": method, ":path": target, ...Object.fromEntries(grouped) });
  }

  async fetch(request: HttpRequest): Promise<HttpReply> {
    const { status, headers, body } = await this.open(request);
    return { status, headers, text: (await buffer(body)).toString("utf8") };
  }

  close(): void {
    this.session.destroy();
  }
}

/** The head of the reply to a request that was begun. */
export function replyOf(stream: ClientHttp2Stream): Promise<Http2Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Http2Reply>();
  stream.once("response", (headers) => resolve({ status: headers[":status"] ?? 0, headers: plain(headers), body: stream }));
  stream.on("error", reject).once("close", () => reject(new Error(`reset with ${stream.rstCode}`)));
  return promise;
}

function plain(headers: IncomingHttpHeaders): Headers {
  return new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
