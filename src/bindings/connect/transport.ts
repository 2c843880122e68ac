/** Connect's client end: unary calls by Connect's own, streams by a reader of ours over its HTTP client. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { type DescMethodUnary, toBinary } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createMethodUrl, type UniversalClientFn } from "@connectrpc/connect/protocol";
import { requestHeader, validateResponse } from "@connectrpc/connect/protocol-connect";
import { createConnectTransport, createNodeHttpClient, Http2SessionManager } from "@connectrpc/connect-node";
import { type ClientCall, type StreamReply, transportOver, type UnaryReply, type Wire } from "../client-call.ts";
import { envelope } from "../envelope.ts";
import { type ClosableTransport, type ResolvedOptions, resolveTransportOptions, type TransportOptions } from "../transport.ts";
import { networkError } from "./network-error.ts";
import { StreamReader } from "./stream-reader.ts";

/** What the Connect transport takes. */
export interface ConnectTransportOptions extends TransportOptions {
  /** `http://` or `https://`, with a path where there is one. */
  readonly url: string;
  /** Over `http:` version 2 is spoken with prior knowledge. Default `2`. */
  readonly httpVersion?: "1.1" | "2" | undefined;
  /** How long a connection of version 2 may be silent before it is pinged. Default 60 s. */
  readonly keepaliveMs?: number | undefined;
  /** How long an answer to a ping may take before the connection counts as lost. Default 10 s. */
  readonly keepaliveTimeoutMs?: number | undefined;
}

/** Connects when the first call is made. Throws a TypeError for a URL that is none of HTTP. */
export function createConnectHttpTransport(options: ConnectTransportOptions): ClosableTransport {
  const url = URL.parse(options.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`${JSON.stringify(options.url)} is no address of an HTTP server: http(s)://host/path`);
  }
  const resolved = resolveTransportOptions(options);
  return transportOver(options.httpVersion === "1.1" ? overHttp1(resolved, url) : overHttp2(resolved, url), resolved);
}

class ConnectWire implements Wire {
  readonly #transport: Transport;
  readonly #http: UniversalClientFn;
  readonly #options: ResolvedOptions<ConnectTransportOptions>;
  readonly close: () => void;

  constructor(
    options: ResolvedOptions<ConnectTransportOptions>,
    way: { transport: Transport; http: UniversalClientFn; close: () => void },
  ) {
    this.#transport = way.transport;
    this.#http = way.http;
    this.#options = options;
    this.close = way.close;
  }

  async unary({ method, request, headers, deadline, signal }: ClientCall): Promise<UnaryReply> {
    try {
      return await this.#transport.unary(method as DescMethodUnary, signal, timeoutUntil(deadline), headers, request);
    } catch (error) {
      throw networkError(error);
    }
  }

  async stream({ method, request, headers, deadline, signal }: ClientCall): Promise<StreamReply> {
    try {
      const { header, body, status } = await this.#http({
        url: createMethodUrl(this.#options.url, method),
        method: "POST",
        header: requestHeader(method.methodKind, true, timeoutUntil(deadline), headers, true),
        body: once(envelope(0, toBinary(method.input, request))),
        signal,
      });
      validateResponse(method.methodKind, true, status, header);
      const trailer = new Headers();
      const frames = new StreamReader({ output: method.output, body, header, trailer, maxMessageBytes: this.#options.maxMessageBytes });
      return { header, trailer, frames };
    } catch (error) {
      throw networkError(error);
    }
  }
}

/** Connect tells the server, and ends the call itself at the deadline. */
function timeoutUntil(deadline: number | undefined): number | undefined {
  return deadline === undefined ? undefined : Math.max(1, deadline - Date.now());
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function overHttp2(options: ResolvedOptions<ConnectTransportOptions>, url: URL): Wire {
  const session = { pingIntervalMs: options.keepaliveMs ?? 60_000, pingTimeoutMs: options.keepaliveTimeoutMs ?? 10_000 };
  const sessionManager = new Http2SessionManager(url, { ...session, connectTimeoutMs: options.connectTimeoutMs }, tlsOf(options));
  const transport = createConnectTransport({ ...common(options), httpVersion: "2", sessionManager });
  const http = createNodeHttpClient({ httpVersion: "2", sessionProvider: () => sessionManager });
  return new ConnectWire(options, { transport, http, close: () => sessionManager.abort() });
}

function overHttp1(options: ResolvedOptions<ConnectTransportOptions>, url: URL): Wire {
  const isPlain = url.protocol === "http:";
  const agent = isPlain ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true, ...tlsOf(options) });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = connect(...args);
    const timer = setTimeout(() => socket?.destroy(new Error("connection establishment timed out")), options.connectTimeoutMs);
    const clear = (): void => clearTimeout(timer);
    socket?.once(isPlain ? "connect" : "secureConnect", clear).once("close", clear);
    return socket;
  };
  const transport = createConnectTransport({ ...common(options), httpVersion: "1.1", nodeOptions: { agent } });
  const http = createNodeHttpClient({ httpVersion: "1.1", nodeOptions: { agent } });
  return new ConnectWire(options, { transport, http, close: () => agent.destroy() });
}

/** Compression would cost more than it saves on the small frames of a stream. */
function common({ url, maxMessageBytes }: ResolvedOptions<ConnectTransportOptions>) {
  return { baseUrl: url, readMaxBytes: maxMessageBytes, acceptCompression: [] };
}

function tlsOf({ tls: { ca, cert, key, serverName } = {} }: TransportOptions): Record<string, string | Buffer> {
  return Object.fromEntries(
    Object.entries({ ca, cert, key, servername: serverName }).filter((entry): entry is [string, string | Buffer] => entry[1] !== undefined),
  );
}
