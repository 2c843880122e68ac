/** The transport for an endpoint. */
import { createConnectHttpTransport } from "../bindings/connect/transport.ts";
import { createGrpcTransport } from "../bindings/grpc/transport.ts";
import { createJsonRpcTransport } from "../bindings/json-rpc/transport.ts";
import { createRestTransport } from "../bindings/rest/transport.ts";
import type { ClosableTransport, TransportOptions } from "../bindings/transport.ts";
import type { ClientBinding, ClientOptions } from "./client-options.ts";
import type { Endpoint } from "./interfaces.ts";

/** Opens the transport of an endpoint. gRPC without a scheme of its own uses TLS where the card came over it. */
export function openTransport({ binding, url }: Endpoint, options: ClientOptions, secureCard: boolean | undefined): ClosableTransport {
  const { connectTimeoutMs, maxMessageBytes, silenceMs, tls } = options;
  const common: CommonOptions = { url, connectTimeoutMs, maxMessageBytes, silenceMs, tls, ...pings(silenceMs) };
  if (binding === "GRPC") return createGrpcTransport({ ...common, plaintext: options.plaintext ?? plaintextOf(url, secureCard) });
  return OVER_HTTP[binding](common);
}

interface Pings {
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
}

/** A transport takes of it what its wire knows: PINGs, or silence. */
type CommonOptions = TransportOptions & Pings & { readonly silenceMs: number };

/** An answer to a PING takes a round trip. */
const LONGEST_ANSWER_MS = 10_000;

/** PINGs that tell of a dead connection within `silenceMs`. */
function pings(silenceMs: number): Pings {
  return { keepaliveMs: (silenceMs * 2) / 3, keepaliveTimeoutMs: Math.min(silenceMs / 3, LONGEST_ANSWER_MS) };
}

const OVER_HTTP: Readonly<Record<Exclude<ClientBinding, "GRPC">, (options: CommonOptions) => ClosableTransport>> = {
  "HTTP+JSON": createRestTransport,
  JSONRPC: createJsonRpcTransport,
  CONNECT: createConnectHttpTransport,
};

/** Undefined where the URL's own scheme says it. */
function plaintextOf(url: string, secureCard: boolean | undefined): boolean | undefined {
  return /^(https?|unix):/i.test(url) ? undefined : secureCard !== true;
}

export type { ClosableTransport } from "../bindings/transport.ts";
