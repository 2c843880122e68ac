/** Places in a trace, between what goes over the wire and what OpenTelemetry's API takes. */
import {
  context as contexts,
  type Context,
  createContextKey,
  createTraceState,
  diag,
  INVALID_SPAN_CONTEXT,
  INVALID_SPANID,
  INVALID_TRACEID,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { TraceContext } from "../../core/trace-context.ts";

/** Where every version of the API keeps the span: versions in one process share contexts. */
const SPAN_KEY = createContextKey("OpenTelemetry Context Key SPAN");

/**
 * `trace.setSpan`, without the map and the three functions that each context of the API is made of. V8 makes functions that are assigned to properties
 * old from the start, so that only a major collection would take them, with the span that they refer to.
 */
class WithSpan implements Context {
  readonly #parent: Context;
  readonly #span: Span;

  constructor(parent: Context, span: Span) {
    // Not one below the other: what is begun in the course of what has ended would keep all spans before it.
    this.#parent = parent instanceof WithSpan ? parent.#parent : parent;
    this.#span = span;
  }

  getValue(key: symbol): unknown {
    return key === SPAN_KEY ? this.#span : this.#parent.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return trace.setSpan(this.#parent, this.#span).setValue(key, value);
  }

  deleteValue(key: symbol): Context {
    return trace.setSpan(this.#parent, this.#span).deleteValue(key);
  }
}

/** The tracer of the global provider; undefined where there is none: then nothing is made for spans that nobody records. */
export function tracerOf(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer("throughline") : provider.getTracer("throughline");
}

/** A place that was read before, as a parent or a link. */
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  // 00-<32 digits>-<16 digits>-<2 digits>
  const traceFlags = Number.parseInt(traceparent.slice(53, 55), 16);
  const context = { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52), traceFlags, isRemote: true };
  return tracestate === "" ? context : { ...context, traceState: createTraceState(tracestate) };
}

/** What is begun below a place; a trace begins there where none is given. */
export function parentOf(place: TraceContext | undefined): Context {
  return place === undefined ? ROOT_CONTEXT : new WithSpan(ROOT_CONTEXT, trace.wrapSpanContext(spanContextOf(place)));
}

/**
 * Begins a span. Processors and samplers are whatever the program has set up: where one of them throws there is no span, and what was to be told of goes
 * on in its parent's place.
 */
export function beginSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
  try {
    return tracer.startSpan(name, options, parent);
  } catch (error) {
    diag.error("a span could not be begun", error);
    return trace.wrapSpanContext(trace.getSpanContext(parent) ?? INVALID_SPAN_CONTEXT);
  }
}

/** Ends a span; never throws. */
export function endSpan(span: Span): void {
  try {
    span.end();
  } catch (error) {
    diag.error("a span could not be ended", error);
  }
}

/** Runs a step with a span as the active one, for what else is instrumented in this process. */
export function within<T>(span: Span, step: () => T): T {
  return contexts.with(new WithSpan(contexts.active(), span), step);
}

/** Where a span stands, for those who are called in its course; undefined where it stands nowhere. */
export function placeOf(span: Span): TraceContext | undefined {
  const context = span.spanContext();
  const { traceId, spanId, traceFlags, traceState } = context;
  // Not isSpanContextValid: it is asked for each call, and tests both with regular expressions. Tracers make ids of the right form, or these.
  if (traceId === INVALID_TRACEID || spanId === INVALID_SPANID) return undefined;
  const flags = traceFlags < 16 ? `0${traceFlags.toString(16)}` : traceFlags.toString(16);
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() ?? "" };
}
