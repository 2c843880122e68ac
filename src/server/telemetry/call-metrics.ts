/** Metrics of calls, by the stable conventions of OpenTelemetry for RPC; of streams apart. */
import { type Attributes, createNoopMeter, metrics } from "@opentelemetry/api";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { CallFacts, StreamStart } from "../../rpc/call-observer.ts";
import { type CallStatus, errorReasons } from "../../rpc/errors.ts";
import { methodOf, OTHER, SYSTEMS } from "./call-attributes.ts";
import type { MeterFacts } from "./meters-list.ts";

/** The conventions' boundaries, in seconds. */
const CALL_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** A stream may last a moment or a day. */
const STREAM_BOUNDARIES = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400];

/** How a stream ended: whole, left by its reader, handed over by a drain, given up on a reader that took nothing, at its deadline, or broken. */
const ENDS: Readonly<Record<string, string>> = {
  OK: "complete",
  CANCELLED: "left",
  STREAM_DRAINED: "drained",
  STREAM_STALLED: "stalled",
  DEADLINE_EXCEEDED: "deadline",
};
const BROKEN = "broken";

const reasons = errorReasons();
const streamed = A2AService.methods.filter(({ methodKind }) => methodKind === "server_streaming");
const LABELS = { "rpc.system.name": [...new Set(Object.values(SYSTEMS))], "rpc.method": streamed.map(named) };

function named({ name }: { readonly name: string }): string {
  return `${A2AService.typeName}/${name}`;
}

/** The metrics, by what the code calls them. */
export const CALL_METERS = {
  calls: {
    kind: "histogram",
    name: "rpc.server.call.duration",
    unit: "s",
    description: "Duration of calls; of those that stream, only of the refused ones",
    labels: {
      ...LABELS,
      "rpc.method": [...A2AService.methods.map(named), OTHER],
      "rpc.response.status_code": ["OK", ...new Set(reasons.map(({ status }) => status))],
      "error.type": reasons.map(({ reason }) => reason),
    },
  },
  streams: {
    kind: "histogram",
    name: "a2a.stream.duration",
    unit: "s",
    description: "Duration of streams that were taken, by how they ended",
    labels: { ...LABELS, end: [...Object.values(ENDS), BROKEN] },
  },
  active: {
    kind: "running",
    name: "a2a.server.active_streams",
    unit: "{stream}",
    description: "Streams that are open on this replica",
    labels: LABELS,
  },
  resumes: {
    kind: "counter",
    name: "a2a.stream.resumes",
    unit: "{stream}",
    description:
      "Streams that went on with a task: after a position, from a snapshot, with a message that was sent before, or rewound to a snapshot in their midst",
    labels: { ...LABELS, reason: ["position", "snapshot", "repeat", "rewound"] },
  },
} as const satisfies Readonly<Record<string, MeterFacts>>;

/** Whether a stream that began so is a resume. */
const isResume = (start: StreamStart): boolean => start !== "send";

/** Counts calls with the global meter provider, as it is when this is made. */
export class CallMetrics {
  readonly #meter = metrics.getMeter("throughline");
  readonly #calls = this.#meter.createHistogram(CALL_METERS.calls.name, {
    ...facts(CALL_METERS.calls),
    advice: { explicitBucketBoundaries: CALL_BOUNDARIES },
  });
  readonly #streams = this.#meter.createHistogram(CALL_METERS.streams.name, {
    ...facts(CALL_METERS.streams),
    advice: { explicitBucketBoundaries: STREAM_BOUNDARIES },
  });
  readonly #active = this.#meter.createUpDownCounter(CALL_METERS.active.name, facts(CALL_METERS.active));
  readonly #resumes = this.#meter.createCounter(CALL_METERS.resumes.name, facts(CALL_METERS.resumes));
  /** Labels that were made before: there are few. */
  readonly #known = new Map<string, Attributes>();

  /** Undefined where nobody collects metrics. */
  static open(): CallMetrics | undefined {
    const none = Object.getPrototypeOf(createNoopMeter()) as object;
    return Object.getPrototypeOf(metrics.getMeter("throughline")) === none ? undefined : new CallMetrics();
  }

  /** A call has ended that was no stream, or a stream was refused. */
  ended(call: CallFacts, { status, reason }: CallStatus, seconds: number): void {
    const more = { "rpc.response.status_code": status, ...(reason !== undefined && { "error.type": reason }) };
    this.#calls.record(seconds, this.#labels(call, `${status} ${reason}`, more));
  }

  opened(call: CallFacts, start: StreamStart): void {
    this.#active.add(1, this.#labels(call, "", {}));
    if (isResume(start)) this.#resumed(call, start);
  }

  rewound(call: CallFacts): void {
    this.#resumed(call, "rewound");
  }

  streamEnded(call: CallFacts, { status, reason }: CallStatus, seconds: number): void {
    const end = ENDS[reason ?? status] ?? BROKEN;
    this.#active.add(-1, this.#labels(call, "", {}));
    this.#streams.record(seconds, this.#labels(call, end, { end }));
  }

  #resumed(call: CallFacts, reason: string): void {
    this.#resumes.add(1, this.#labels(call, reason, { reason }));
  }

  #labels(call: CallFacts, key: string, more: Attributes): Attributes {
    const whole = `${call.binding} ${call.operation} ${key}`;
    const known = this.#known.get(whole);
    if (known !== undefined) return known;
    const labels = { "rpc.system.name": SYSTEMS[call.binding], "rpc.method": methodOf(call), ...more };
    this.#known.set(whole, labels);
    return labels;
  }
}

function facts({ unit, description }: MeterFacts): { unit: string; description: string } {
  return { unit, description };
}
