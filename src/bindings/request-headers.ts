/** The headers of a request: the transport's, and over them the call's. */
import { Code, ConnectError } from "@connectrpc/connect";
import { PlainHeaders } from "./plain-headers.ts";
import type { HeaderInit, HeaderSource } from "./transport.ts";

/** Answers the headers of one request; rejects with what the source throws, and with INVALID_ARGUMENT for what is no header. */
export type RequestHeaders = (ofCall: HeaderInit | undefined) => Promise<PlainHeaders>;

/** Prepares a transport's headers. Throws a TypeError for what is no header. */
export function requestHeaders(source: HeaderSource | undefined): RequestHeaders {
  const fixed = typeof source === "function" ? undefined : new Headers(source);
  return async (ofCall) => {
    const headers = new PlainHeaders();
    const ofTransport = fixed ?? checked(await (source as () => HeaderInit | Promise<HeaderInit>)());
    for (const [name, value] of ofTransport) headers.set(name, value);
    if (ofCall !== undefined) for (const [name, value] of checked(ofCall)) headers.set(name, value);
    return headers;
  };
}

const NAME = /^[!#$%&'*+.^`|~\w-]+$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Nothing is sent of a call whose headers cannot be. */
function checked(given: HeaderInit): Headers {
  const pairs = given instanceof Headers || Array.isArray(given) ? given : Object.entries(given);
  for (const [name = "", value = ""] of pairs) {
    if (!NAME.test(name)) throw unfit(name, "is no name of a header");
    if (!VALUE.test(value)) throw unfit(name, "has characters that no header has");
  }
  return new Headers(given);
}

/** The error of a header that cannot be sent. Its value may be secret, and is not told. */
export function unfit(name: string, what: string): ConnectError {
  return new ConnectError(`the header ${JSON.stringify(name)} ${what}`, Code.InvalidArgument);
}
