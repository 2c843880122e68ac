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
  const { connectTimeoutMs, maxMessageBytes, tls } = options;
  const common: TransportOptions = { url, connectTimeoutMs, maxMessageBytes, tls };
  if (binding === "GRPC") return createGrpcTransport({ ...common, plaintext: options.plaintext ?? plaintextOf(url, secureCard) });
  return OVER_HTTP[binding](common);
}

const OVER_HTTP: Readonly<Record<Exclude<ClientBinding, "GRPC">, (options: TransportOptions) => ClosableTransport>> = {
  "HTTP+JSON": createRestTransport,
  JSONRPC: createJsonRpcTransport,
  CONNECT: createConnectHttpTransport,
};

/** Undefined where the URL's own scheme says it. */
function plaintextOf(url: string, secureCard: boolean | undefined): boolean | undefined {
  return /^(https?|unix):/i.test(url) ? undefined : secureCard !== true;
}

export type { ClosableTransport } from "../bindings/transport.ts";
