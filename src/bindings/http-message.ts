/** Requests and replies of HTTP/1.1 and HTTP/2 alike, and where the two differ. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";

/** A request, whichever version it came by. */
export type HttpRequest = Readable & Pick<IncomingMessage, "headers" | "rawHeaders" | "method" | "url" | "complete" | "socket">;

/** A reply, whichever version it goes by. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  setHeader(name: string, value: string | number | readonly string[]): unknown;
  appendHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(status: number, headers?: OutgoingHttpHeaders): HttpResponse;
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string | Uint8Array): unknown;
  once(event: string, listener: () => void): unknown;
}

/** NGHTTP2_NO_ERROR: the reply is whole, and no more of the request is wanted (RFC 9113, 8.1). */
export const RST_NO_ERROR = 0;
/** NGHTTP2_CANCEL. Not REFUSED_STREAM: clients send such a call again by themselves. */
export const RST_CANCEL = 8;

/** NGHTTP2_ENHANCE_YOUR_CALM: clients of gRPC take it for RESOURCE_EXHAUSTED. */
export const RST_CALM = 11;

/** The HTTP/2 stream of a reply; undefined over HTTP/1.1. */
export function streamOf(response: HttpResponse): ServerHttp2Stream | undefined {
  return "stream" in response ? (response as Http2ServerResponse).stream : undefined;
}

/** A reply over HTTP/1.1, as node:http has it; undefined over HTTP/2. */
export function http1Of(response: HttpResponse): ServerResponse | undefined {
  return "stream" in response ? undefined : (response as ServerResponse);
}

/** The HTTP/2 stream of a request; undefined over HTTP/1.1. */
export function streamOfRequest(request: HttpRequest): ServerHttp2Stream | undefined {
  return "stream" in request ? (request as Http2ServerRequest).stream : undefined;
}

/** The connection of a request, one object for all requests that come over it. */
export function socketOf(request: HttpRequest): Socket | undefined {
  const stream = streamOfRequest(request);
  return stream === undefined ? request.socket : stream.session?.socket;
}

/** Whether nothing that is written reaches anybody. */
export function isGone(response: HttpResponse): boolean {
  return (streamOf(response) ?? http1Of(response))?.destroyed === true;
}

/** Ends a reply hard, where a clean end is not possible: resets its stream, or closes its connection. */
export function cut(response: HttpResponse): void {
  streamOf(response)?.close(RST_CANCEL);
  http1Of(response)?.destroy();
}
