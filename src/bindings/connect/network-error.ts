/** What Connect's own client says of connections that fail, in the words of the other transports. */
import { Code, ConnectError } from "@connectrpc/connect";
import { unreachedError } from "../../rpc/client-errors.ts";

/** Where a connection was still being made. */
const CONNECTING: ReadonlySet<string> = new Set(["connect", "getaddrinfo"]);
/** Codes of a TLS that did not come about; those of certificates are OpenSSL's. */
const NO_TLS = /^(?:EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERROR_IN_CERT_|INVALID_)/;
const NOT_CONNECTED = "connection establishment timed out";

/**
 * How connect-node, and Connect's reader of envelopes, begin what they say of a reply that was cut; the code would blame the caller or the
 * server. A test holds this against the pinned version.
 */
const CUT =
  /^(?:http\/2 (?:stream|connection) closed with error code|connection aborted|received GOAWAY|PING timed out|protocol error: (?:missing EndStreamResponse|incomplete envelope))/;

/** A call that failed with its connection is UNAVAILABLE; all other errors stay as they are. */
export function networkError(thrown: unknown): ConnectError {
  const error = ConnectError.from(thrown);
  if (error.rawMessage === NOT_CONNECTED) return unreachedError(error.rawMessage, error);
  const cause = nodeErrorOf(error.cause);
  const connecting = CONNECTING.has(cause?.syscall ?? "") || NO_TLS.test(cause?.code ?? "");
  if (cause !== undefined && connecting) return unreachedError(`no connection: ${cause.message}`, error);
  if (cause === undefined && !CUT.test(error.rawMessage)) return error;
  return new ConnectError(`the connection has failed: ${error.rawMessage}`, Code.Unavailable, error.metadata, undefined, error);
}

/** The error of Node's that stands at the beginning; those of aborted calls have no code. */
function nodeErrorOf(cause: unknown): NodeJS.ErrnoException | undefined {
  if (!(cause instanceof Error) || cause instanceof ConnectError) return undefined;
  const [first = cause] = cause instanceof AggregateError ? (cause.errors as Error[]) : [];
  return typeof (first as NodeJS.ErrnoException).code === "string" ? first : nodeErrorOf(first.cause);
}
