/** Spans and measurements of the test's own process, kept in memory. */
import assert from "node:assert/strict";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** One measurement of a histogram or a counter: what was counted, and how often. */
export interface Measured {
  readonly labels: Readonly<Record<string, unknown>>;
  /** Of a histogram its measurements, of the others the value. */
  readonly count: number;
}

/** What is asked of the recording. */
export interface Recorded {
  /** Spans that have ended, in this order. */
  spans(): readonly ReadableSpan[];
  /** Spans of one trace. */
  spansOf(traceId: string): readonly ReadableSpan[];
  /** Waits until a span of the trace has ended that fits. */
  until(traceId: string, fits: (span: ReadableSpan) => boolean): Promise<ReadableSpan>;
  /** All measurements of a metric so far, or of all metrics. */
  measured(name?: string): Promise<readonly Measured[]>;
}

const LONG_MS = 60_000;
const LOOK_MS = 10;

/** Sets the SDK up for this process. To be called once, before a server is made. */
export function recordTelemetry(): Recorded {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  const spansOf = (traceId: string): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  return {
    spans: () => exporter.getFinishedSpans(),
    spansOf,
    async until(traceId, fits) {
      const late = performance.now() + LONG_MS;
      for (;;) {
        const found = spansOf(traceId).find(fits);
        if (found !== undefined) return found;
        assert.ok(
          performance.now() < late,
          `no such span: ${JSON.stringify(spansOf(traceId).map(({ name, attributes }) => [name, attributes]))}`,
        );
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
    async measured(name) {
      kept.reset();
      await reader.forceFlush();
      const all = kept.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
      return all
        .filter(({ descriptor }) => name === undefined || descriptor.name === name)
        .flatMap(({ dataPoints }) =>
          dataPoints.map(({ attributes, value }) => ({ labels: attributes, count: typeof value === "number" ? value : value.count })),
        );
    },
  };
}

/** How often something was measured with these labels. */
export function countOf(measured: readonly Measured[], labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels);
  const fit = measured.filter((one) => wanted.every(([key, value]) => one.labels[key] === value));
  return fit.reduce((sum, { count }) => sum + count, 0);
}

let traces = 0;

/** A place in a trace that nobody else is in: the fields that say so, and its ids. */
export function callersTrace(): {
  readonly headers: { readonly traceparent: string; readonly tracestate: string };
  readonly traceId: string;
  readonly spanId: string;
} {
  traces += 1;
  const traceId = `${"a".repeat(24)}${traces.toString(16).padStart(8, "0")}`;
  const spanId = `${"b".repeat(12)}${traces.toString(16).padStart(4, "0")}`;
  return { headers: { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "caller=1" }, traceId, spanId };
}
