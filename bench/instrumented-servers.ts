/**
 * Three of our servers in one process, on the three ports that its arguments name: one that was made before there was anything to tell, one that tells
 * metrics, one that tells metrics and one trace in ten, to the collector that the environment names. What is compiled and collected is the same for all.
 */
import { SILENT } from "../src/core/telemetry.ts";
import { startTelemetry } from "../src/server/telemetry/sdk.ts";
import { HOST, serveOurs } from "./serve-ours.ts";
import { ready } from "./server-process.ts";

const SCRAPE_MS = 5000;
const NOTHING = { OTEL_METRICS_EXPORTER: "none", OTEL_TRACES_EXPORTER: "none" };
const METRICS = { ...NOTHING, OTEL_METRICS_EXPORTER: "prometheus" };
/** Exported soon after they were made: in the turn of the server that made them. */
const TRACES = {
  ...NOTHING,
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
  OTEL_TRACES_SAMPLER_ARG: "0.1",
  OTEL_BSP_SCHEDULE_DELAY: "50",
};

const [, , off, metrics, traces, redisUrl] = process.argv;
const { ports } = await serveOurs({ redisUrl, grpcPort: Number(off) });
// The providers are the process's: a server takes those that there are when it is made.
const { scrape } = await startTelemetry({ replica: "bench", log: SILENT, environment: { ...process.env, ...METRICS } });
setInterval(() => void scrape?.(), SCRAPE_MS).unref();
await serveOurs({ redisUrl, grpcPort: Number(metrics) });
await startTelemetry({ replica: "bench", log: SILENT, environment: { ...process.env, ...TRACES } });
await serveOurs({ redisUrl, grpcPort: Number(traces) });
ready({ grpc: `${HOST}:${ports.grpc}` });
