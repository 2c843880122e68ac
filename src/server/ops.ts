/** The operations port: what probes ask. */
import type { Server } from "node:http";
import type { WriterOptions } from "../bindings/frame-writer.ts";
import { listener } from "../bindings/http.ts";
import { http1Server, type Http1Options } from "../bindings/http1-server.ts";
import { type HttpHandler, sendJson } from "../bindings/http-exchange.ts";
import type { Log } from "../core/telemetry.ts";
import type { Probes } from "./probes.ts";

/** Serves `/livez` (the event loop turns), `/startupz` (the start is over) and `/readyz` (calls are welcome): 200, or 503 with the reason. */
export function opsServer(options: WriterOptions & Pick<Http1Options, "idleConnectionMs">, probes: Probes, log: Log): Server {
  const answers: Readonly<Record<string, () => { readonly status: string; readonly reason?: string }>> = {
    "/livez": () => ({ status: "live" }),
    "/startupz": () => (probes.started() ? { status: "started" } : { status: "not started", reason: "starting" }),
    "/readyz": () => {
      const reason = probes.unready();
      return reason === undefined ? { status: "ready" } : { status: "not ready", reason };
    },
  };
  const health: HttpHandler = async (exchange) => {
    const { method } = exchange.request;
    const answer = Object.hasOwn(answers, exchange.path) ? answers[exchange.path]?.() : undefined;
    if (answer === undefined || (method !== "GET" && method !== "HEAD")) return false;
    sendJson(exchange, answer.reason === undefined ? 200 : 503, "application/json", JSON.stringify(answer));
    return true;
  };
  return http1Server(
    listener([health], options, (error) => log.error({ error }, "the operations port broke")),
    // In clear text even where the server's other ports are not: probes come from the node.
    { idleConnectionMs: options.idleConnectionMs },
  );
}
