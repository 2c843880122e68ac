/** What a server's calls feed: spans, metrics, log lines. */
import type { Tracer } from "@opentelemetry/api";
import type { Log } from "../../core/telemetry.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { CallFacts, CallObserver, ObservedCall, StreamStart } from "../../rpc/call-observer.ts";
import type { CallStatus } from "../../rpc/errors.ts";
import { type CallLine, CallLog, type CallLogging } from "./call-log.ts";
import { CallMetrics } from "./call-metrics.ts";
import { CallSpan } from "./call-spans.ts";
import { tracerOf } from "./span-context.ts";
import type { Tallies } from "./tallies.ts";

interface Watchers {
  readonly tracer: Tracer | undefined;
  readonly metrics: CallMetrics | undefined;
  readonly log: CallLog | undefined;
}

/** Watches calls with the global providers of OpenTelemetry, as they are when this is called; undefined where nobody would see anything of it. */
export function observeCalls(log: Log, which: CallLogging, tallies: Tallies): CallObserver | undefined {
  const watchers = { tracer: tracerOf(), metrics: CallMetrics.open(tallies), log: CallLog.open(log, which) };
  if (Object.values(watchers).every((watcher) => watcher === undefined)) return undefined;
  return { began: (facts) => new WatchedCall(watchers, facts) };
}

class WatchedCall implements ObservedCall {
  readonly #watchers: Watchers;
  readonly #facts: CallFacts;
  readonly #began = performance.now();
  readonly #span: CallSpan | undefined;
  #start: StreamStart | undefined;
  #openedAt = 0;
  #principal: string | undefined;
  #taskId: string | undefined;
  #contextId: string | undefined;

  constructor(watchers: Watchers, facts: CallFacts) {
    this.#watchers = watchers;
    this.#facts = facts;
    if (watchers.tracer !== undefined) this.#span = new CallSpan(watchers.tracer, facts);
  }

  get trace(): TraceContext | undefined {
    return this.#span?.trace ?? this.#facts.trace;
  }

  by(principal: string): void {
    this.#principal = principal;
  }

  about(taskId: string, contextId: string): void {
    this.#taskId = taskId;
    this.#contextId = contextId;
    this.#span?.about(taskId, contextId);
  }

  run<T>(step: () => T): T {
    return this.#span === undefined ? step() : this.#span.run(step);
  }

  opened(start: StreamStart): void {
    this.#start = start;
    this.#openedAt = performance.now();
    this.#span?.opened(start);
    this.#watchers.metrics?.opened(this.#facts, start);
  }

  rewound(): void {
    this.#watchers.metrics?.rewound(this.#facts);
  }

  ended(status: CallStatus): void {
    const { metrics, log } = this.#watchers;
    const now = performance.now();
    if (this.#start === undefined) {
      this.#span?.ended(status);
      metrics?.ended(this.#facts, status, (now - this.#began) / 1000);
    } else {
      metrics?.streamEnded(this.#facts, status, (now - this.#openedAt) / 1000);
    }
    log?.ended(status, () => this.#line(now - this.#began));
  }

  #line(ms: number): CallLine {
    return {
      call: this.#facts,
      ms,
      principal: this.#principal,
      taskId: this.#taskId,
      contextId: this.#contextId,
      start: this.#start,
      ids: this.#span?.ids,
    };
  }
}
