/** HTTP/1.1 by node:http; what it cannot read is answered in HTTP+JSON's form too. */
import { createServer, maxHeaderSize, type Server, type ServerOptions, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { connectError, type WireError, wireError } from "../rpc/errors.ts";
import { CONNECTION_BOUNDS, type ConnectionBounds } from "./connection-bounds.ts";
import { type Listener, statusJson } from "./http.ts";
import { HANDSHAKE_MS, type TlsSource } from "./tls-source.ts";

/** How connections are kept. */
export interface Http1Options {
  /** How long a connection may be idle. It has to outlive the pool of whoever is in front, which else sends a request into its end. */
  readonly idleConnectionMs: number;
  /** Default: {@link CONNECTION_BOUNDS}. */
  readonly bounds?: ConnectionBounds | undefined;
  /** Default: clear text. */
  readonly tls?: TlsSource | undefined;
}

/** Streams stay open for as long as they like. */
const OPTIONS: ServerOptions = {
  // TCP's own: it finds peers that are gone where a stream is quiet and has no frame to keep it alive.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
};

/** A server over a listener, over TLS where there is a source for it; not yet listening. */
export function http1Server(listener: Listener, { idleConnectionMs, tls, bounds = CONNECTION_BOUNDS }: Http1Options): Server {
  const { requestMs } = bounds;
  const times = { requestTimeout: requestMs, headersTimeout: requestMs, connectionsCheckingInterval: Math.ceil(requestMs / 4) };
  const server = tls === undefined ? createServer({ ...OPTIONS, ...times }, listener) : tlsServer(listener, tls, times);
  server.keepAliveTimeout = idleConnectionMs;
  // An expectation that nobody knows may be passed over (RFC 9110, 10.1.1).
  server.on("checkExpectation", listener);
  server.on("clientError", refuse);
  return server;
}

/** For both versions of HTTP: whoever takes its connections looks which one a client has chosen. */
function tlsServer(listener: Listener, tls: TlsSource, times: ServerOptions): Server {
  const { requestCert, rejectUnauthorized, context } = tls;
  const own = { requestCert, rejectUnauthorized, handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ["h2", "http/1.1"] };
  const server = createTlsServer({ ...OPTIONS, ...times, ...context, ...own }, listener);
  const stop = tls.watch((next) => server.setSecureContext(next));
  return server.once("close", stop);
}

/** A connection whose next request is none is answered, unless a reply is on its way there, and closed. */
function refuse(cause: NodeJS.ErrnoException, socket: Duplex): void {
  // node:http has no public way to the reply that a connection is waiting for.
  const { _httpMessage: reply } = socket as { _httpMessage?: ServerResponse | null };
  // Nothing can be said before TLS stands, and it is not known then which protocol it is about.
  const isHandshake = socket instanceof TLSSocket && (socket.alpnProtocol ?? null) === null;
  if (isHandshake || !socket.writable || reply?.headersSent === true) {
    socket.destroy();
    return;
  }
  const error = malformed(cause.code);
  const json = statusJson(error);
  const head = [
    `HTTP/1.1 ${error.http} ${STATUS_CODES[error.http]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(json)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${json}`, () => socket.destroy());
}

function malformed(code: string | undefined): WireError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return {
        ...wireError(
          connectError("MESSAGE_TOO_LARGE", `the head of a request may have at most ${maxHeaderSize} bytes and a thousand fields`),
        ),
        http: 431,
      };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return wireError(connectError("MESSAGE_TOO_LARGE", "the chunks of a request have too many extensions"));
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { ...wireError(connectError("DEADLINE_EXCEEDED", "the request did not come in whole in time")), http: 408 };
    case "HPE_INVALID_EOF_STATE":
      return wireError(connectError("INVALID_REQUEST", "the request was cut short"));
    default:
      return wireError(connectError("INVALID_REQUEST", "the request is not HTTP"));
  }
}
