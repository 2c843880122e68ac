/** What goes out by OTLP over HTTP. Loaded only where it is asked for. */
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import { type MetricReader, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Sampling, TelemetryPlan } from "./sdk-variables.ts";

/** Exports metrics at an interval. Endpoint, headers, certificates and the rest are read from their variables by the exporter. */
export function exportedMetrics({ everyMs, timeoutMs }: NonNullable<TelemetryPlan["metrics"]>): MetricReader {
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: everyMs,
    exportTimeoutMillis: timeoutMs,
  });
}

/** Records and exports traces. */
export function exportedTraces(plan: NonNullable<TelemetryPlan["traces"]>, resource: Resource): TracerProvider {
  const { delayMs, timeoutMs, queueSize, batchSize } = plan;
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: timeoutMs,
    maxQueueSize: queueSize,
    maxExportBatchSize: Math.min(batchSize, queueSize),
  });
  return new TracerProvider({ resource, sampler: samplerOf(plan), spanProcessors: [processor] });
}

function samplerOf({ sampler, ratio }: Sampling): Sampler {
  const byParent = sampler.startsWith("parentbased_");
  const root = byParent ? sampler.slice("parentbased_".length) : sampler;
  const own =
    root === "traceidratio" ? new TraceIdRatioBasedSampler(ratio) : root === "always_off" ? new AlwaysOffSampler() : new AlwaysOnSampler();
  return byParent ? new ParentBasedSampler({ root: own }) : own;
}
