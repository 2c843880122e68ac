/** One HTTP request and its reply, as the HTTP bindings see it. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { connectError, type WireError } from "../rpc/errors.ts";
import { type CallContext, GONE } from "./call-context.ts";
import { FrameWriter, type Sink, type WriterOptions } from "./frame-writer.ts";
import { cut, type HttpRequest, type HttpResponse, isGone, RST_NO_ERROR, socketOf, streamOf, streamOfRequest } from "./http-message.ts";
import { LARGE_FRAME } from "./progress.ts";

/** A request on its way to a handler. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** The path of the request target, still percent-encoded, without the query. */
  readonly path: string;
  /** How slow readers are treated. */
  readonly slow: WriterOptions;
  /** The query, without the question mark. */
  readonly query: string;
}

/** Handles a request, or answers false to leave it to the next handler. */
export type HttpHandler = (exchange: Exchange) => Promise<boolean>;

/** Splits the request target. An absolute-form target counts by its path. */
export function exchangeOf(request: HttpRequest, response: HttpResponse, slow: WriterOptions): Exchange {
  const target = (request.url ?? "/").replace(/^https?:\/\/[^/?#]*/i, "");
  const [path = "", ...rest] = target.split("?");
  return { request, response, slow, path: path || "/", query: rest.join("?") };
}

/** The error for a request that is larger than may be. */
export function bodyTooLarge(maxBytes: number): ConnectError {
  return connectError("MESSAGE_TOO_LARGE", `a request may have at most ${maxBytes} bytes`);
}

/**
 * Reads the whole body; `overhead` bytes of it are not the message's. Throws MESSAGE_TOO_LARGE at the first byte beyond the limit, and
 * leaves the rest unread.
 */
export async function readBody(request: HttpRequest, maxBytes: number, overhead = 0): Promise<Buffer> {
  const limit = maxBytes + overhead;
  if (Number(request.headers["content-length"] ?? 0) > limit) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else resolve();
  };
  const gone = (): void => reject(GONE);
  request.on("data", take).once("end", resolve).once("error", gone).once("aborted", gone);
  try {
    await promise;
  } finally {
    request.off("data", take).off("end", resolve).off("error", gone).off("aborted", gone);
  }
  if (bytes > limit) {
    request.pause();
    throw bodyTooLarge(maxBytes);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** The media type of a request body, without parameters, in lower case; undefined where none is named. */
export function mediaTypeOf(request: HttpRequest): string | undefined {
  return request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
}

/** Whether a media type is JSON in one of the forms that A2A uses (C-09). */
export function isJson(mediaType: string): boolean {
  return mediaType === "application/json" || mediaType === "application/a2a+json";
}

/** How long a caller may go on sending after its reply was sent. */
const LINGER_MS = 2000;

/** Sends a whole JSON reply, as {@link sendBody} does. */
export function sendJson(exchange: Exchange, status: number, contentType: string, json: string, context?: CallContext): void {
  sendBody(exchange, status, { "content-type": contentType, "content-length": Buffer.byteLength(json) }, json, context);
}

/**
 * Sends a whole reply, whose headers say how long it is, with what the call has put into its headers. Throws RESOURCE_EXHAUSTED where too much is
 * left unread already; an error always goes out.
 */
export function sendBody(
  { response, request, slow }: Exchange,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string | Buffer,
  context?: CallContext,
): void {
  if (response.headersSent || isGone(response)) return;
  if (status < 400) count(response, request, slow, body.length);
  for (const [name, value] of context?.responseHeaders() ?? []) response.setHeader(name, value);
  const stream = streamOf(response);
  const unread = !request.complete && hasBody(request);
  // Over HTTP/1.1 a body that was not read to its end would be taken for the next request.
  if (unread && stream === undefined) response.setHeader("connection", "close");
  response.writeHead(status, headers);
  if (unread && stream === undefined) return linger(request, response, body);
  if (unread && stream !== undefined) discard(request, stream);
  if (body.length > LARGE_FRAME) void sendSlices(response, body, slow);
  else response.end(body);
}

/** Counts a reply until it has left. */
function count(response: HttpResponse, request: HttpRequest, { egress }: WriterOptions, bytes: number): void {
  if (bytes > LARGE_FRAME) {
    if (egress.isCrowded(bytes)) throw connectError("RESOURCE_EXHAUSTED", "too many large replies are under way", { retryAfterMs: 1000 });
    return;
  }
  const left = egress.replies.begin(bytes, socketOf(request) ?? response, () => cut(response));
  response.once("close", left);
}

/** Whether a request brings a body, by its head alone (RFC 9112, 6.3): one without is not complete either before its head was handled. */
function hasBody(request: HttpRequest): boolean {
  const stream = streamOfRequest(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  return request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
}

/** Sends a large reply no faster than its reader takes it, and cuts it where that takes nothing: replies are bounded as streams are. */
async function sendSlices(response: HttpResponse, body: string | Buffer, slow: WriterOptions): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const sink: Sink<string | Buffer> = streamOf(response) ?? (response as ServerResponse);
  const writer = new FrameWriter<string | Buffer>(sink, slow, left.signal);
  if ((await writer.push(body)) === "stalled") cut(response);
  else response.end();
}

/**
 * Answers a request whose body is not read to its end: the reply goes out at once, the rest is thrown away for a while. Many callers read no
 * reply before they have sent everything; closing under them would reset the connection and the reply with it.
 */
function linger(request: HttpRequest, response: HttpResponse, body: string | Buffer): void {
  response.write(body);
  const timer = setTimeout(() => response.end(), LINGER_MS);
  request.once("end", () => response.end()).resume();
  response.once("close", () => clearTimeout(timer));
}

/** The same over HTTP/2, where a stream can end alone: a reset without an error then says that nothing more of the request is wanted. */
function discard(request: HttpRequest, stream: ServerHttp2Stream): void {
  request.resume();
  stream.once("finish", () => {
    const timer = setTimeout(() => stream.close(RST_NO_ERROR), LINGER_MS);
    stream.once("close", () => clearTimeout(timer));
  });
}

/** Headers that an error asks for, beyond its body. */
export function setErrorHeaders({ response }: Exchange, error: WireError): void {
  if (error.retryAfterSeconds !== undefined) response.setHeader("retry-after", String(error.retryAfterSeconds));
}

/** Name and value of each request header, as they were read. */
export function* headersOf(request: HttpRequest): IterableIterator<[string, string]> {
  const { rawHeaders } = request;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // HTTP/2 has the request line among its headers.
    if (!name.startsWith(":")) yield [name, rawHeaders[at + 1] as string];
  }
}

/** Ends the call's signal when the peer leaves before its reply is whole. */
export function watchPeer({ response }: Exchange, context: CallContext): void {
  // Over HTTP/2 what was reset counts as finished too.
  response.once("close", () => context.end(response.writableEnded && response.writableFinished ? undefined : GONE));
}
