/** Requests over either version of HTTP, for the bindings that are served on both. */
import { PassThrough, pipeline } from "node:stream";
import { HttpClient, type HttpRequest } from "./http.ts";
import { Http2Client, type OpenReply } from "./http2.ts";

/** The connections of one caller. */
export interface Wire {
  /** Sends a request; resolves with the head of its reply. */
  open(request: HttpRequest): Promise<OpenReply>;
  close(): void;
}

/** The version of HTTP. */
export type HttpVersion = 1 | 2;

/** A wire to a port of 127.0.0.1. */
export function wireTo(port: number, version: HttpVersion): Wire {
  return version === 1 ? new Http1Wire(port) : new Http2Wire(port);
}

class Http1Wire implements Wire {
  readonly #client: HttpClient;

  constructor(port: number) {
    this.#client = new HttpClient(port);
  }

  async open(request: HttpRequest): Promise<OpenReply> {
    const body = await this.#client.open(request);
    const headers = new Map(Object.entries(body.headers).map(([name, value]) => [name, String(value)]));
    return { status: body.statusCode ?? 0, headers, body };
  }

  close(): void {
    this.#client.close();
  }
}

/** One connection, opened when it is needed and again when the server has closed it. */
class Http2Wire implements Wire {
  readonly #port: number;
  #client: Http2Client | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  async open(request: HttpRequest): Promise<OpenReply> {
    if (this.#client === undefined || this.#client.session.closed) this.#client = new Http2Client(this.#port);
    const reply = await this.#client.open(request);
    // A stream of node:http2 that is closed before somebody begins to read it seems to be cut.
    const body = new PassThrough();
    pipeline(reply.body, body, () => undefined);
    return { ...reply, body };
  }

  close(): void {
    this.#client?.close();
  }
}
