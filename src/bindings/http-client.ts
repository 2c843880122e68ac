/** HTTP/1.1 for the transports that send JSON: one pool of connections, errors as ConnectErrors. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { unreachedError } from "../rpc/client-errors.ts";
import { PlainHeaders } from "./plain-headers.ts";
import type { ResolvedOptions, TransportOptions } from "./transport.ts";

/** What the transports over plain HTTP take. */
export interface HttpTransportOptions extends TransportOptions {
  /** `http://` or `https://`, with a path where there is one. */
  readonly url: string;
  /**
   * A reply that has begun, or a stream that should have, and on which nothing comes for so long, not even a comment, is given up with
   * UNAVAILABLE: its connection may be half open. Default 90 s; 0: never.
   */
  readonly silenceMs?: number | undefined;
}

/** One request. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, below the path of the URL. */
  readonly target: string;
  readonly headers: PlainHeaders;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
  /** The reply begins at once, whenever it may end: the bound on silence counts from the request on. */
  readonly beginsAtOnce: boolean;
}

/** The head of a reply; whoever gets it reads the body or destroys it. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Dispatcher.ResponseData["body"];
}

/** A server's connections. Redirects are not followed and nothing is sent again: both are for the caller to decide. */
export class HttpClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #silenceMs: number;
  readonly #maxBytes: number;

  /** Throws a TypeError for a URL that is none of HTTP. */
  constructor(options: ResolvedOptions<HttpTransportOptions>) {
    const url = URL.parse(options.url);
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new TypeError(`${JSON.stringify(options.url)} is no address of an HTTP server: http(s)://host/path`);
    }
    this.#url = url;
    this.#silenceMs = options.silenceMs ?? 90_000;
    this.#maxBytes = options.maxMessageBytes;
    this.#agent = new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: this.#silenceMs, connect: connector(options) });
  }

  /** Sends a request; resolves with the head of the reply. */
  async send({ method, target, headers, body, signal, beginsAtOnce }: HttpRequest): Promise<HttpReply> {
    try {
      const reply = await this.#agent.request({
        origin: this.#url.origin,
        path: this.#path(target),
        method,
        headers: Object.fromEntries(headers),
        body: body ?? null,
        signal,
        headersTimeout: beginsAtOnce ? this.#silenceMs : 0,
      });
      // Whoever reads the body hears of its errors; one that was left is read by nobody.
      reply.body.on("error", () => undefined);
      return { status: reply.statusCode, headers: headersOf(reply.headers), body: reply.body };
    } catch (error) {
      throw this.networkError(error);
    }
  }

  /** The body as text. Throws RESOURCE_EXHAUSTED where it is too large. */
  async text({ body, headers }: HttpReply): Promise<string> {
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > this.#maxBytes)
          throw new ConnectError(`a reply of more than ${this.#maxBytes} bytes`, Code.ResourceExhausted, headers);
        chunks.push(chunk);
      }
    } catch (error) {
      throw this.networkError(error);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** What has gone wrong with a connection, as the caller shall see it. */
  networkError(error: unknown): ConnectError {
    if (error instanceof ConnectError) return error;
    if (error instanceof NoConnection) return unreachedError(error.message, error.cause);
    const { code, message } = error as NodeJS.ErrnoException;
    const text =
      code === "UND_ERR_BODY_TIMEOUT" || code === "UND_ERR_HEADERS_TIMEOUT" ? `nothing has come for ${this.#silenceMs} ms` : message;
    return new ConnectError(`the connection has failed: ${text}`, Code.Unavailable, undefined, undefined, error);
  }

  close(): void {
    this.#agent.destroy().catch(() => undefined);
  }

  /** A query of the URL, such as a key of a gateway, goes with every request. */
  #path(target: string): string {
    const { pathname, search } = this.#url;
    const base = target === "" ? pathname : pathname.replace(/\/$/, "");
    if (search === "") return base + target;
    return base + target + (target.includes("?") ? `&${search.slice(1)}` : search);
  }
}

/** No connection came about. */
class NoConnection extends Error {
  override readonly name = "NoConnection";
}

/** undici's own, with errors that tell connecting from all that comes after it. */
function connector({ tls = {}, connectTimeoutMs }: ResolvedOptions<TransportOptions>): buildConnector.connector {
  const { ca, cert, key, serverName } = tls;
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(new NoConnection(`no connection to ${options.host ?? options.hostname}: ${error.message}`, { cause: error }), null);
    });
  };
}

function headersOf(given: Record<string, string | string[] | undefined>): Headers {
  const headers = new PlainHeaders();
  for (const [name, values] of Object.entries(given)) for (const value of [values ?? []].flat()) headers.append(name, value);
  return headers;
}
