/** What the client ends of all bindings share: each is a Connect transport, made from the same options. */
import type { Transport } from "@connectrpc/connect";

export { lastEventIdOf } from "./event-ids.ts";

/** Request headers, or metadata: what `new Headers()` takes. */
export type HeaderInit = NonNullable<ConstructorParameters<typeof Headers>[0]>;
/** Headers, or a function that is asked for them before each request. */
export type HeaderSource = HeaderInit | (() => HeaderInit | Promise<HeaderInit>);

/** What TLS is to trust and to show. Certificates and keys are PEM. */
interface TlsOptions {
  /** Authorities to trust instead of the well-known ones. */
  readonly ca?: string | Buffer | undefined;
  /** Certificate to show, with its key. Default: none. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** Name that the peer's certificate is to have. Default: the host of the URL. */
  readonly serverName?: string | undefined;
}

/** What every transport takes. */
export interface TransportOptions {
  /** Where the interface is, as an agent card gives it. */
  readonly url: string;
  /** Sent with every request; headers of the call itself win. Default: none. */
  readonly headers?: HeaderSource | undefined;
  /** How long a connection, TLS included, may take to come about. Default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Largest reply or frame that is taken. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Default: the well-known authorities, no certificate of our own. */
  readonly tls?: TlsOptions | undefined;
}

/**
 * A transport that holds connections. `close` ends the calls that are open with CANCELED and lets go of the connections; later calls
 * fail. Idempotent.
 */
export type ClosableTransport = Transport & { close(): void };

/** The options with their defaults. */
export type ResolvedOptions<O extends TransportOptions> = O & { readonly connectTimeoutMs: number; readonly maxMessageBytes: number };

/** Fills in the defaults. Throws a TypeError where a certificate comes without its key or a key without its certificate. */
export function resolveTransportOptions<O extends TransportOptions>(options: O): ResolvedOptions<O> {
  const { tls } = options;
  if ((tls?.cert === undefined) !== (tls?.key === undefined)) throw new TypeError("tls.cert and tls.key go together");
  return { ...options, connectTimeoutMs: options.connectTimeoutMs ?? 10_000, maxMessageBytes: options.maxMessageBytes ?? 16 * 1024 * 1024 };
}
