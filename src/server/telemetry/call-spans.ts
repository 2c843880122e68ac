/** A server span for each call; for a stream, one for its opening. */
import { type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { TraceContext } from "../../core/trace-context.ts";
import type { CallFacts, StreamStart } from "../../rpc/call-observer.ts";
import type { CallStatus } from "../../rpc/errors.ts";
import { isFault, methodOf, SYSTEMS } from "./call-attributes.ts";
import { beginSpan, endSpan, parentOf, placeOf, within } from "./span-context.ts";

/**
 * The span of one call, a child of its caller's. That of a stream ends when the stream is taken: a span that lives for hours is exported hours
 * late, and not at all where its replica dies.
 */
export class CallSpan {
  readonly #span: Span;
  #trace: TraceContext | undefined;

  constructor(tracer: Tracer, facts: CallFacts) {
    const { binding } = facts;
    const method = methodOf(facts);
    const attributes = { "rpc.system.name": SYSTEMS[binding], "rpc.method": method, "a2a.binding": binding };
    const name = facts.operation === undefined ? SYSTEMS[binding] : method;
    this.#span = beginSpan(tracer, name, { kind: SpanKind.SERVER, attributes }, parentOf(facts.trace));
  }

  /** Where it stands, for what the call brings about. */
  get trace(): TraceContext | undefined {
    return (this.#trace ??= placeOf(this.#span));
  }

  /** Ids of the span, for log lines. */
  get ids(): { readonly trace_id: string; readonly span_id: string } {
    const { traceId, spanId } = this.#span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }

  /** Runs what the call asks for. */
  run<T>(step: () => T): T {
    return within(this.#span, step);
  }

  about(taskId: string, contextId: string): void {
    if (this.#span.isRecording()) this.#span.setAttributes({ "a2a.task.id": taskId, "a2a.context.id": contextId });
  }

  /** The stream is taken. */
  opened(start: StreamStart): void {
    if (this.#span.isRecording()) this.#span.setAttributes({ "a2a.stream.start": start, "rpc.response.status_code": "OK" });
    endSpan(this.#span);
  }

  /** The call has ended, or the stream was refused. */
  ended({ status, reason }: CallStatus): void {
    this.#span.setAttribute("rpc.response.status_code", status);
    if (reason !== undefined) this.#span.setAttribute("error.type", reason);
    if (isFault(status)) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    endSpan(this.#span);
  }
}
