/**
 * Our server as the program sets it up: its metrics are kept, and read as often as a scraper would. Where its first argument is `traced`, one trace
 * in ten goes to the collector that the environment names.
 */
import { SILENT } from "../src/core/telemetry.ts";
import { startTelemetry } from "../src/server/telemetry/sdk.ts";

const SCRAPE_MS = 5000;
const SAMPLED = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.1" };

const traced = process.argv[2] === "traced";
if (traced) process.argv.splice(2, 1);
const environment = traced ? { ...process.env, ...SAMPLED } : {};
const { scrape } = await startTelemetry({ replica: "bench", log: SILENT, environment });
setInterval(() => void scrape?.(), SCRAPE_MS).unref();
await import("./our-server.ts");
