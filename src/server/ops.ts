/** The operations port: what probes and scrapers ask. */
import type { Server } from "node:http";
import type { WriterOptions } from "../bindings/frame-writer.ts";
import { listener } from "../bindings/http.ts";
import { http1Server, type Http1Options } from "../bindings/http1-server.ts";
import { type HttpHandler, sendBody, sendJson } from "../bindings/http-exchange.ts";
import type { Log } from "../core/telemetry.ts";
import type { Probes } from "./probes.ts";

/** Tells the metrics in the text format of Prometheus. */
export type Scrape = () => Promise<string>;

/** What the operations port tells. */
interface Told {
  readonly probes: Probes;
  /** Undefined: there is no `/metrics`. */
  readonly scrape: Scrape | undefined;
  readonly log: Log;
}

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Serves `/livez` (the event loop turns), `/startupz` (the start is over) and `/readyz` (calls are welcome): 200, or 503 with the reason; and
 * `/metrics`.
 */
export function opsServer(options: WriterOptions & Pick<Http1Options, "idleConnectionMs">, { probes, scrape, log }: Told): Server {
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
  const metrics: HttpHandler = async (exchange) => {
    const { method } = exchange.request;
    if (scrape === undefined || exchange.path !== "/metrics" || (method !== "GET" && method !== "HEAD")) return false;
    const text = await scrape();
    sendBody(exchange, 200, { "content-type": TEXT_FORMAT, "content-length": Buffer.byteLength(text) }, text);
    return true;
  };
  return http1Server(
    listener([health, metrics], options, (error) => log.error({ error }, "the operations port broke")),
    // In clear text even where the server's other ports are not: probes come from the node.
    { idleConnectionMs: options.idleConnectionMs },
  );
}
