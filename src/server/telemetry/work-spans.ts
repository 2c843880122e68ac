/** A span for each run of an agent and for each attempt at a webhook, on whichever replica it happens. */
import { type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { TraceContext } from "../../core/trace-context.ts";
import { type TracedWork, type Tracing, UNTRACED, type WorkFacts } from "../../core/tracing.ts";
import { beginSpan, endSpan, parentOf, placeOf, spanContextOf, tracerOf, within } from "./span-context.ts";

/** What begins so long after its call has a trace of its own that is linked to the call's: that one was looked at, and thrown away, long ago. */
const DEAD_AFTER_MS = 15 * 60_000;

const KINDS = {
  turn: { name: "a2a.turn", kind: SpanKind.CONSUMER, outcome: "a2a.turn.outcome" },
  webhook: { name: "a2a.webhook", kind: SpanKind.CLIENT, outcome: "a2a.webhook.outcome" },
} as const;

/** Traces work with the global provider, as it is when this is called. */
export function workTracing(): Tracing {
  const tracer = tracerOf();
  return tracer === undefined ? UNTRACED : { begin: (facts) => new WorkSpan(tracer, facts) };
}

class WorkSpan implements TracedWork {
  readonly trace: TraceContext | undefined;
  readonly #span: Span;
  readonly #outcome: string;

  constructor(tracer: Tracer, { kind: what, taskId, contextId, trace: call, since, attempt, host }: WorkFacts) {
    const { name, kind, outcome } = KINDS[what];
    const isDead = call !== undefined && Date.now() - since > DEAD_AFTER_MS;
    const links = isDead ? [{ context: spanContextOf(call) }] : [];
    this.#span = beginSpan(tracer, name, { kind, links, root: isDead }, parentOf(isDead ? undefined : call));
    this.#outcome = outcome;
    this.trace = placeOf(this.#span);
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes({
      "a2a.task.id": taskId,
      ...(contextId !== undefined && { "a2a.context.id": contextId }),
      ...(attempt !== undefined && { "a2a.turn.attempt": attempt }),
      ...(host !== undefined && { "server.address": host }),
    });
  }

  run<T>(step: () => T): T {
    return within(this.#span, step);
  }

  ended(outcome: string, failed: boolean): void {
    this.#span.setAttribute(this.#outcome, outcome);
    if (failed) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    endSpan(this.#span);
  }
}
