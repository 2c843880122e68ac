/** Strict-Transport-Security (RFC 6797): whoever came by HTTPS comes back by HTTPS. */
import type { HttpHandler } from "./http-exchange.ts";

/** Marks what other handlers answer. For ports with TLS only: browsers pass it over elsewhere, and it may not be sent there. */
export function hstsHandler(maxAgeSeconds: number): HttpHandler {
  const value = `max-age=${maxAgeSeconds}`;
  return async ({ response }) => {
    response.setHeader("strict-transport-security", value);
    return false;
  };
}
