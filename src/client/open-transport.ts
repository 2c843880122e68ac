/** The transport for an endpoint. */
import { createConnectHttpTransport } from "../bindings/connect/transport.ts";
import { createGrpcTransport } from "../bindings/grpc/transport.ts";
import { createJsonRpcTransport } from "../bindings/json-rpc/transport.ts";
import { createRestTransport } from "../bindings/rest/transport.ts";
import type { ClosableTransport, TransportOptions } from "../bindings/transport.ts";
import type { ClientBinding, ClientOptions } from "./client-options.ts";
import type { Endpoint } from "./interfaces.ts";

const OPEN: Readonly<Record<ClientBinding, (options: TransportOptions) => ClosableTransport>> = {
  GRPC: createGrpcTransport,
  "HTTP+JSON": createRestTransport,
  JSONRPC: createJsonRpcTransport,
  CONNECT: createConnectHttpTransport,
};

/** Opens the transport of an endpoint. gRPC without a scheme of its own uses TLS where the card came over it. */
export function openTransport({ binding, url }: Endpoint, options: ClientOptions, secureCard: boolean | undefined): ClosableTransport {
  const { connectTimeoutMs, maxMessageBytes, tls, plaintext } = options;
  return OPEN[binding]({ url: binding === "GRPC" ? grpcUrl(url, plaintext, secureCard) : url, connectTimeoutMs, maxMessageBytes, tls });
}

/** `host:port` with the scheme that it is to be called by; other forms say it themselves, unless `plaintext` overrides them. */
function grpcUrl(url: string, plaintext: boolean | undefined, secureCard: boolean | undefined): string {
  const [, scheme, rest = url] = /^(https?):\/\/(.*)$/i.exec(url) ?? [];
  if (plaintext !== undefined) return `${plaintext ? "http" : "https"}://${rest}`;
  if (scheme !== undefined || /^[a-z][a-z0-9+.-]*:\/\//i.test(url) || url.startsWith("unix:")) return url;
  return `${secureCard === true ? "https" : "http"}://${url}`;
}

export type { ClosableTransport } from "../bindings/transport.ts";
