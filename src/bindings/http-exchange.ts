/** One HTTP request and its reply, as the HTTP bindings see it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { connectError, type WireError } from "../rpc/errors.ts";
import { type CallContext, GONE } from "./call-context.ts";
import { FrameWriter, type WriterOptions } from "./frame-writer.ts";
import { LARGE_FRAME } from "./progress.ts";

/** A request on its way to a handler. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
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
export function exchangeOf(request: IncomingMessage, response: ServerResponse, slow: WriterOptions): Exchange {
  const target = (request.url ?? "/").replace(/^https?:\/\/[^/?#]*/i, "");
  const [path = "", ...rest] = target.split("?");
  return { request, response, slow, path: path || "/", query: rest.join("?") };
}

/** Reads the whole body. Throws MESSAGE_TOO_LARGE at the first byte beyond the limit, and leaves the rest unread. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): never => {
    throw connectError("MESSAGE_TOO_LARGE", `a request may have at most ${maxBytes} bytes`);
  };
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    else resolve();
  };
  const cut = (): void => reject(connectError("CANCELLED", "the caller has gone"));
  request.on("data", take).once("end", resolve).once("error", cut).once("aborted", cut);
  try {
    await promise;
  } finally {
    request.off("data", take).off("end", resolve).off("error", cut).off("aborted", cut);
  }
  if (bytes > maxBytes) {
    request.pause();
    tooLarge();
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** The media type of a request body, without parameters, in lower case; undefined where none is named. */
export function mediaTypeOf(request: IncomingMessage): string | undefined {
  return request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
}

/** Whether a media type is JSON in one of the forms that A2A uses (C-09). */
export function isJson(mediaType: string): boolean {
  return mediaType === "application/json" || mediaType === "application/a2a+json";
}

/** How long a caller may go on sending after its reply was sent. */
const LINGER_MS = 2000;

/** Sends a whole JSON reply with what the call has put into its headers. */
export function sendJson(
  { response, request, slow }: Exchange,
  status: number,
  contentType: string,
  json: string,
  context?: CallContext,
): void {
  if (response.headersSent || response.destroyed) return;
  for (const [name, value] of context?.responseHeaders() ?? []) response.setHeader(name, value);
  // A body that was not read to its end would be taken for the next request.
  if (!request.complete) response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(json) });
  if (request.method === "HEAD") response.end();
  else if (!request.complete) linger(request, response, json);
  else if (json.length > LARGE_FRAME) void sendSlices(response, json, slow);
  else response.end(json);
}

/** Sends a large reply no faster than its reader takes it, and cuts it where that takes nothing: replies are bounded as streams are. */
async function sendSlices(response: ServerResponse, json: string, slow: WriterOptions): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const writer = new FrameWriter<string>(response, (slices) => slices.join(""), slow, left.signal);
  if ((await writer.push(json)) === "stalled") response.destroy();
  else response.end();
}

/**
 * Answers a request whose body is not read to its end: the reply goes out at once, the rest is thrown away for a while. Many callers read no
 * reply before they have sent everything; closing under them would reset the connection and the reply with it.
 */
function linger(request: IncomingMessage, response: ServerResponse, json: string): void {
  response.write(json);
  const timer = setTimeout(() => response.end(), LINGER_MS);
  request.once("end", () => response.end()).resume();
  response.once("close", () => clearTimeout(timer));
}

/** Headers that an error asks for, beyond its body. */
export function setErrorHeaders({ response }: Exchange, error: WireError): void {
  if (error.retryAfterSeconds !== undefined) response.setHeader("retry-after", String(error.retryAfterSeconds));
}

/** Name and value of each request header, as node:http read them. */
export function* headersOf(request: IncomingMessage): IterableIterator<[string, string]> {
  const { rawHeaders } = request;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at] as string, rawHeaders[at + 1] as string];
}

/** Ends the call's signal when the peer leaves before its reply is whole. */
export function watchPeer({ response }: Exchange, context: CallContext): void {
  response.once("close", () => context.end(response.writableFinished ? undefined : GONE));
}
