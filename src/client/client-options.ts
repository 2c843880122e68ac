/** Options of the client: every default in one place. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Cut } from "./come-back.ts";

/** Bindings that the client speaks; CONNECT is no binding of A2A's card, and is taken at the origin of an HTTP one. */
export type ClientBinding = "GRPC" | "HTTP+JSON" | "JSONRPC" | "CONNECT";

/**
 * How a send waits. `stream`: SendStreamingMessage. `poll`: SendMessage that returns immediately, then GetTask. `block`: SendMessage.
 * `auto`: `stream` where the card declares it, else `poll` (CL-01, CL-21).
 */
export type Wait = "auto" | "stream" | "poll" | "block";

/** What a callback for credentials is told. */
export interface CredentialsRequest {
  /** The last ones were refused: bring new ones, if there are any. */
  readonly refresh: boolean;
  /** Of the agent that is called; undefined while its card is fetched. */
  readonly card: AgentCard | undefined;
}

/** TLS of the connections that use it. Default: the platform's authorities, no certificate of one's own. */
export interface ClientTls {
  /** PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate is to have. Default: the host. */
  readonly serverName?: string;
}

/** How a cut stream is picked up again. */
export interface Reconnect {
  /** Attempts in a row without a frame before GetTask has the last word (CL-12). */
  readonly attempts: number;
  /** The first pause; each further one is twice as long, with jitter. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Options, complete. */
export interface ClientOptions {
  /** Which bindings are used, the preferred one first. Default: those that the card lists, in its order. */
  readonly bindings: readonly ClientBinding[] | undefined;
  /** Header fields, or gRPC metadata, of every call. Default none. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header fields that carry credentials, asked for before each call, and once more where they were refused. Default none. */
  readonly credentials:
    | ((request: CredentialsRequest) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  readonly tls: ClientTls;
  /** Speaks gRPC without TLS whatever the card's URL says. Default: as its scheme says, or that of the card's own URL. */
  readonly plaintext: boolean | undefined;
  /** Judges a card before it is used, by its signatures for one: throws where it is not to be trusted. Default: every card is. */
  readonly verifyCard: ((card: AgentCard, json: JsonValue) => void | Promise<void>) | undefined;
  /** URIs of extensions to activate beside those that this client uses itself. Default none. */
  readonly extensions: readonly string[];
  readonly wait: Wait;
  /** Time between two GetTask where nothing else is to be had (CL-22). Default 10 s. */
  readonly pollIntervalMs: number;
  /** How long a call that does not wait for the agent may take. Default 30 s. */
  readonly timeoutMs: number;
  /** How long a connection may take. Default 10 s. */
  readonly connectTimeoutMs: number;
  /**
   * How long nothing may come on a connection that somebody waits on before it counts as lost: nobody tells of one that is half open. Over
   * gRPC and Connect the client asks for a sign by a PING after two thirds of it, over HTTP+JSON and JSON-RPC the server's comments are one.
   * A send that blocks is asked after by then. Default 90 s; servers of this project say something every 15 s.
   */
  readonly silenceMs: number;
  /** Attempts of a call that may be repeated. Default 4. */
  readonly attempts: number;
  /** The longest pause that a server may ask for (`Retry-After`). One that asks for more is not tried again. Default 15 min. */
  readonly patienceMs: number;
  readonly reconnect: Reconnect;
  /** Told of each connection of a run that was lost, before it is tried again. Must not throw. Default: nobody is told. */
  readonly reconnecting: ((cut: Cut) => void) | undefined;
  /** Largest reply or frame, in bytes. Default 16 MiB. */
  readonly maxMessageBytes: number;
}

/** Options as they are given: everything may be left out. */
export type ClientOptionsInput = Partial<Omit<ClientOptions, "reconnect">> & { readonly reconnect?: Partial<Reconnect> };

const RECONNECT: Reconnect = { attempts: 10, baseMs: 200, maxMs: 30_000 };

const DEFAULTS: ClientOptions = {
  bindings: undefined,
  headers: {},
  credentials: undefined,
  tls: {},
  plaintext: undefined,
  verifyCard: undefined,
  extensions: [],
  wait: "auto",
  pollIntervalMs: 10_000,
  timeoutMs: 30_000,
  connectTimeoutMs: 10_000,
  silenceMs: 90_000,
  attempts: 4,
  patienceMs: 15 * 60_000,
  reconnect: RECONNECT,
  reconnecting: undefined,
  maxMessageBytes: 16 * 1024 * 1024,
};

/** Completes options. */
export function resolveClientOptions(given: ClientOptionsInput): ClientOptions {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...DEFAULTS, ...set, reconnect: { ...RECONNECT, ...given.reconnect } };
}
