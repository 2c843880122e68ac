/** Cross-origin calls from browsers (Fetch standard, 3.2): only pages of the origins that are named may read replies. */
import { cors as connectCors } from "@connectrpc/connect";
import type { HttpHandler } from "./http-exchange.ts";
import type { HttpRequest } from "./http-message.ts";

/** Who may call from where. */
export interface CorsOptions {
  /** Origins, exactly as browsers write them: scheme, host, and a port where it is not the scheme's own. None: CORS is off. */
  readonly origins: readonly string[];
  /** How long a browser may keep the answer to a preflight request. */
  readonly maxAgeSeconds: number;
  /** Header fields that carry credentials, beside Authorization. Default: none. */
  readonly headers?: readonly string[];
}

/** Credentials are tokens in a header, never cookies: none of them is sent by a browser of its own accord. */
const ALLOWED_HEADERS = [
  ...connectCors.allowedHeaders,
  "authorization",
  "a2a-version",
  "a2a-extensions",
  "a2a-tenant",
  "last-event-id",
  "if-none-match",
  "traceparent",
  "tracestate",
];

const EXPOSED_HEADERS = [
  ...connectCors.exposedHeaders,
  "a2a-extensions",
  "a2a-task-id",
  "etag",
  "retry-after",
  "throughline-delivery",
  "www-authenticate",
];

const METHODS = "GET, POST, DELETE";

/** Answers preflight requests, and marks what other handlers answer. To an origin that is not named it says nothing, as if CORS were off. */
export function corsHandler({ origins, maxAgeSeconds, headers = [] }: CorsOptions): HttpHandler {
  const known = new Set(origins);
  const allowed = listOf([...ALLOWED_HEADERS, ...headers]);
  const exposed = listOf(EXPOSED_HEADERS);
  return async ({ request, response }) => {
    response.appendHeader("vary", "Origin");
    const { origin } = request.headers;
    if (origin === undefined || !known.has(origin)) return false;
    response.setHeader("access-control-allow-origin", origin);
    if (!isPreflight(request)) {
      response.setHeader("access-control-expose-headers", exposed);
      return false;
    }
    response.setHeader("access-control-allow-methods", METHODS);
    response.setHeader("access-control-allow-headers", allowed);
    response.setHeader("access-control-max-age", maxAgeSeconds);
    response.writeHead(204).end();
    return true;
  };
}

function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function listOf(names: readonly string[]): string {
  return [...new Set(names.map((name) => name.toLowerCase()))].toSorted().join(", ");
}
