/** An HTTP server that answers what a test says: the forms that our own server does not have. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { createJsonRpcTransport } from "../../../src/bindings/json-rpc/transport.ts";
import { createRestTransport, type RestTransportOptions } from "../../../src/bindings/rest/transport.ts";
import { type A2AClient, client } from "./ways.ts";

/** A request as it came. */
export interface Received {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A reply in full; `write` writes one that is more than its text. */
export interface Answer {
  readonly status?: number;
  /** Media type; undefined leaves it out. Default `application/json`. */
  readonly type?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly write?: (response: ServerResponse) => Promise<void>;
}

export class RawServer implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #answer: (request: Received) => Answer;

  private constructor(answer: (request: Received) => Answer) {
    this.#answer = answer;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  /** Listens. Every request gets the same answer, or the one that is made for it. */
  static async open(answer: Answer | ((request: Received) => Answer)): Promise<RawServer> {
    const server = new RawServer(typeof answer === "function" ? answer : () => answer);
    await once(server.#server.listen(0, "127.0.0.1"), "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: target = "", headers } = request;
    const received = { method, target, headers, body: Buffer.concat(chunks).toString() };
    this.received.push(received);
    const answer = { status: 200, type: "application/json", ...this.#answer(received) };
    response.writeHead(answer.status, { ...(answer.type !== undefined && { "content-type": answer.type }), ...answer.headers });
    // The reader may leave before the end.
    response.on("error", () => undefined);
    if (answer.write === undefined) response.end(answer.body);
    else await answer.write(response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** The two bindings of JSON, and how each wraps a message. */
export const JSON_BINDINGS = {
  "HTTP+JSON": {
    open: (url: string, options: Partial<RestTransportOptions> = {}) => client(createRestTransport({ url, ...options })),
    wrap: (message: JsonValue, _request?: Received): JsonValue => message,
  },
  "JSON-RPC": {
    open: (url: string, options: Partial<RestTransportOptions> = {}) => client(createJsonRpcTransport({ url, ...options })),
    wrap: (message: JsonValue, request?: Received): JsonValue => ({ jsonrpc: "2.0", id: idOf(request), result: message }),
  },
} as const satisfies Record<
  string,
  {
    open: (url: string, options?: Partial<RestTransportOptions>) => { readonly client: A2AClient } & Disposable;
    wrap: (message: JsonValue, request?: Received) => JsonValue;
  }
>;

/** The id of a JSON-RPC request; the first has 1. */
export function idOf(request: Received | undefined): number {
  return request === undefined ? 1 : ((JSON.parse(request.body) as { id?: number }).id ?? assert.fail("a request without an id"));
}

/** A stream of events, cut as the test says. */
export function eventStream(chunks: readonly (string | Uint8Array)[], end: "end" | "destroy" = "end"): Answer {
  return {
    type: "text/event-stream",
    async write(response) {
      for (const chunk of chunks) {
        if (response.destroyed) return;
        await new Promise((resolve) => response.write(chunk, resolve));
        // Each chunk is to be one of TCP's too.
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (end === "end") response.end();
      else response.destroy();
    },
  };
}
