/** The SDK of OpenTelemetry, for a program of our own: metrics for a scraper, and what the standard variables ask for. */
import { context, diag, DiagLogLevel, metrics, propagation, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { MeterProvider, type MetricReader } from "@opentelemetry/sdk-metrics";
import type { Log } from "../../core/telemetry.ts";
import type { Scrape } from "../ops.ts";
import { readTelemetryPlan } from "./sdk-variables.ts";

/** What a process says of itself, where the variables do not. */
export interface TelemetryInit {
  /** Name of this replica. */
  readonly replica: string;
  /** Told where nothing can be exported. */
  readonly log: Log;
  /** Default: the process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** What was set up. */
export interface Telemetry {
  /** For `/metrics`; undefined where the variables ask for none. */
  readonly scrape: Scrape | undefined;
  /** Exports what is left and ends; never rejects. */
  shutdown(): Promise<void>;
}

/** What the last export may take, of the time in which a process ends. */
const LAST_EXPORT_MS = 2000;
const NOTHING: Telemetry = { scrape: undefined, shutdown: async () => undefined };

/**
 * Sets the global providers of this process; to be called before a server is made, at most once. Throws OptionsError for a variable that cannot be
 * followed. A collector that is away costs what it would have got, and nothing else.
 */
export async function startTelemetry({ replica, log, environment = process.env }: TelemetryInit): Promise<Telemetry> {
  const plan = readTelemetryPlan(environment);
  if (plan === undefined) return NOTHING;
  diag.setLogger(diagnostics(log), DiagLogLevel.WARN);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "throughline", "service.instance.id": replica }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
  const readers: MetricReader[] = [];
  const shutdowns: (() => Promise<void>)[] = [];
  let scrape: Scrape | undefined;
  if (plan.prometheus) {
    const { ScrapedMetrics } = await import("./prometheus.ts");
    const scraped = new ScrapedMetrics();
    readers.push(scraped);
    scrape = () => scraped.scrape();
  }
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  if (plan.metrics !== undefined || plan.traces !== undefined) {
    const { exportedMetrics, exportedTraces } = await import("./sdk-otlp.ts");
    if (plan.metrics !== undefined) readers.push(exportedMetrics(plan.metrics));
    if (plan.traces !== undefined) {
      const provider = exportedTraces(plan.traces, resource);
      trace.setGlobalTracerProvider(provider);
      // Log lines of a turn say in which trace they stand, and what an agent's own instrumentation records is part of it.
      const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
      context.setGlobalContextManager(new AsyncLocalStorageContextManager());
      shutdowns.push(() => provider.shutdown());
    }
  }
  if (readers.length > 0) {
    const provider = new MeterProvider({ resource, readers });
    metrics.setGlobalMeterProvider(provider);
    shutdowns.push(() => provider.shutdown({ timeoutMillis: LAST_EXPORT_MS }));
  }
  return { scrape, shutdown: () => ended(shutdowns) };
}

async function ended(shutdowns: readonly (() => Promise<void>)[]): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, LAST_EXPORT_MS);
  await Promise.race([Promise.allSettled(shutdowns.map((shutdown) => shutdown())), late.promise]);
  clearTimeout(timer);
}

/** What the SDK complains of, into the log. Some parts of it name themselves first, and say then what happened. */
function diagnostics(log: Log): Parameters<typeof diag.setLogger>[0] {
  const say = (...said: readonly unknown[]): void => {
    const told = said.map(inShort).filter((one) => one !== undefined);
    log.warn({}, `telemetry: ${told.join(": ")}`);
  };
  return { error: say, warn: say, info: () => undefined, debug: () => undefined, verbose: () => undefined };
}

/** The SDK tells an error as itself, or as the JSON of all that it has, its stack too; what happened is its message, or where it has none its code. */
function inShort(said: unknown): string | undefined {
  if (said instanceof Error) return said.message;
  if (typeof said !== "string") return undefined;
  if (!said.startsWith("{")) return said;
  try {
    const { message, code } = JSON.parse(said) as { readonly message?: string; readonly code?: string };
    return message ?? code ?? said;
  } catch {
    return said;
  }
}
