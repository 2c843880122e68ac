/** Places in a trace, between what goes over the wire and what OpenTelemetry's API takes. */
import {
  type Context,
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { TraceContext } from "../../core/trace-context.ts";

/** The tracer of the global provider; undefined where there is none: then nothing is made for spans that nobody records. */
export function tracerOf(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer("throughline") : provider.getTracer("throughline");
}

/** A place that was read before, as a parent or a link. */
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return tracestate === "" ? context : { ...context, traceState: createTraceState(tracestate) };
}

/** What is begun below a place; a trace begins there where none is given. */
export function parentOf(place: TraceContext | undefined): Context {
  return place === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(place));
}

/** Where a span stands, for those who are called in its course. */
export function placeOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    tracestate: traceState?.serialize() ?? "",
  };
}
