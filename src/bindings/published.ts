/** JSON documents at fixed paths: made once, and asked for again by their validators. */
import { createHash } from "node:crypto";
import { connectError, wireError } from "../rpc/errors.ts";
import { hasCurrent, type Validators } from "./conditional.ts";
import { sendStatus } from "./http.ts";
import { type Exchange, type HttpHandler, sendJson } from "./http-exchange.ts";

/** What is published where. */
export interface Publication<T extends object> {
  /** Where it is, as often as it is to be found. */
  readonly paths: readonly string[];
  /** What the document is made from. It is made again when this answers another object. */
  readonly source: () => T;
  readonly json: (source: T) => string;
  /** How long callers may go on without asking again. */
  readonly maxAgeSeconds: number;
}

/** A document as it is served now. */
interface Edition<T> extends Validators {
  readonly source: T;
  readonly json: string;
}

/**
 * Serves a document to GET and HEAD, to everybody, whatever A2A-Version the request names. The entity tag is a digest of the content:
 * replicas that publish the same agree on it. Last-Modified is when this process first served the content.
 */
export function publish<T extends object>({ paths, source, json, maxAgeSeconds }: Publication<T>): HttpHandler {
  let edition: Edition<T> | undefined;
  const current = (): Edition<T> => {
    const now = source();
    if (edition?.source !== now) edition = editionOf(now, json(now), edition);
    return edition;
  };
  return async (exchange) => {
    if (!paths.includes(exchange.path)) return false;
    const { request, response } = exchange;
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      sendStatus(exchange, wireError(connectError("METHOD_NOT_ALLOWED", "this document is read with GET")));
      return true;
    }
    response.setHeader("cache-control", `public, max-age=${maxAgeSeconds}`);
    sendEdition(exchange, current());
    return true;
  };
}

function editionOf<T>(source: T, json: string, before: Edition<T> | undefined): Edition<T> {
  if (json === before?.json) return { ...before, source };
  const etag = `"${createHash("sha256").update(json).digest("base64url").slice(0, 22)}"`;
  return { source, json, etag, modifiedAt: Math.floor(Date.now() / 1000) * 1000 };
}

function sendEdition(exchange: Exchange, edition: Edition<unknown>): void {
  const { request, response } = exchange;
  response.setHeader("etag", edition.etag);
  if (hasCurrent(request.headers, edition)) {
    response.writeHead(304).end();
    return;
  }
  response.setHeader("last-modified", new Date(edition.modifiedAt).toUTCString());
  sendJson(exchange, 200, "application/json", edition.json);
}
