/** The headers of a request: the transport's, and over them the call's. */
import { PlainHeaders } from "./plain-headers.ts";
import type { HeaderInit, HeaderSource } from "./transport.ts";

/** Answers the headers of one request; rejects with what the source throws. */
export type RequestHeaders = (ofCall: HeaderInit | undefined) => Promise<PlainHeaders>;

/** Prepares a transport's headers. Throws a TypeError for what is no header. */
export function requestHeaders(source: HeaderSource | undefined): RequestHeaders {
  const fixed = typeof source === "function" ? undefined : new Headers(source);
  return async (ofCall) => {
    const headers = new PlainHeaders();
    const ofTransport = fixed ?? new Headers(await (source as () => HeaderInit | Promise<HeaderInit>)());
    for (const [name, value] of ofTransport) headers.set(name, value);
    if (ofCall !== undefined) for (const [name, value] of new Headers(ofCall)) headers.set(name, value);
    return headers;
  };
}
