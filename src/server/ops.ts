/** The operations port: liveness and readiness. */
import type { Server } from "node:http";
import type { WriterOptions } from "../bindings/frame-writer.ts";
import { listener } from "../bindings/http.ts";
import { http1Server } from "../bindings/http1-server.ts";
import { type HttpHandler, sendJson } from "../bindings/http-exchange.ts";
import type { Log } from "../core/telemetry.ts";

/** Serves `/livez` (the event loop turns) and `/readyz` (calls are welcome). */
export function opsServer(slow: WriterOptions, ready: () => boolean, log: Log): Server {
  const health: HttpHandler = async (exchange) => {
    if (exchange.request.method !== "GET" && exchange.request.method !== "HEAD") return false;
    if (exchange.path === "/livez") sendJson(exchange, 200, "application/json", '{"status":"live"}');
    else if (exchange.path === "/readyz") {
      const up = ready();
      sendJson(exchange, up ? 200 : 503, "application/json", `{"status":"${up ? "ready" : "not ready"}"}`);
    } else return false;
    return true;
  };
  return http1Server(listener([health], slow, (error) => log.error({ error }, "the operations port broke")));
}
