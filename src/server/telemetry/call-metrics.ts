/** Metrics of calls, by the stable conventions of OpenTelemetry for RPC; of streams apart. */
import { type Attributes, createNoopMeter, metrics } from "@opentelemetry/api";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Binding, CallFacts, StreamStart } from "../../rpc/call-observer.ts";
import { type CallStatus, errorReasons } from "../../rpc/errors.ts";
import { methodOf, OTHER, SYSTEMS } from "./call-attributes.ts";
import type { MeterFacts } from "./meters-list.ts";
import type { Tallies, Tally } from "./tallies.ts";

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

/** Where streams of one method over one binding are counted. */
interface StreamTallies {
  readonly active: Tally;
  readonly resumes: ReadonlyMap<string, Tally>;
}

/** What calls of one method over one binding are told to. */
class MethodMeters {
  readonly #labels: Attributes;
  readonly #open: (labels: Attributes) => StreamTallies;
  #streams: StreamTallies | undefined;
  /** Labels of streams by their end, and of other calls by status and reason: made when first asked for, there are few. */
  readonly #ends = new Map<string, Attributes>();
  readonly #outcomes = new Map<string, Map<string | undefined, Attributes>>();

  constructor(call: CallFacts, open: (labels: Attributes) => StreamTallies) {
    this.#labels = { "rpc.system.name": SYSTEMS[call.binding], "rpc.method": methodOf(call) };
    this.#open = open;
  }

  get streams(): StreamTallies {
    return (this.#streams ??= this.#open(this.#labels));
  }

  ended({ status, reason }: CallStatus): Attributes {
    const outcomes = entry(this.#outcomes, status, () => new Map<string | undefined, Attributes>());
    return entry(outcomes, reason, () => ({
      ...this.#labels,
      "rpc.response.status_code": status,
      ...(reason !== undefined && { "error.type": reason }),
    }));
  }

  streamEnded(end: string): Attributes {
    return entry(this.#ends, end, () => ({ ...this.#labels, end }));
  }
}

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
  readonly #tallies: Tallies;
  readonly #methods = new Map<Binding, Map<string | undefined, MethodMeters>>();

  private constructor(tallies: Tallies) {
    this.#tallies = tallies;
  }

  /** Undefined where nobody collects metrics. */
  static open(tallies: Tallies): CallMetrics | undefined {
    const none = Object.getPrototypeOf(createNoopMeter()) as object;
    return Object.getPrototypeOf(metrics.getMeter("throughline")) === none ? undefined : new CallMetrics(tallies);
  }

  /** A call has ended that was no stream, or a stream was refused. */
  ended(call: CallFacts, status: CallStatus, seconds: number): void {
    this.#calls.record(seconds, this.#of(call).ended(status));
  }

  opened(call: CallFacts, start: StreamStart): void {
    const { active, resumes } = this.#of(call).streams;
    active.add(1);
    resumes.get(start)?.add(1);
  }

  rewound(call: CallFacts): void {
    this.#of(call).streams.resumes.get("rewound")?.add(1);
  }

  streamEnded(call: CallFacts, { status, reason }: CallStatus, seconds: number): void {
    const meters = this.#of(call);
    meters.streams.active.add(-1);
    this.#streams.record(seconds, meters.streamEnded(ENDS[reason ?? status] ?? BROKEN));
  }

  #of(call: CallFacts): MethodMeters {
    const methods = entry(this.#methods, call.binding, () => new Map<string | undefined, MethodMeters>());
    return entry(methods, call.operation, () => new MethodMeters(call, (labels) => this.#open(labels)));
  }

  #open(labels: Attributes): StreamTallies {
    const resumes = CALL_METERS.resumes.labels.reason.map(
      (reason) => [reason, this.#tallies.of(this.#resumes, { ...labels, reason })] as const,
    );
    return { active: this.#tallies.of(this.#active, labels), resumes: new Map<string, Tally>(resumes) };
  }
}

/** What a map has under a key, made when first asked for. */
function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let known = map.get(key);
  if (known === undefined) map.set(key, (known = make()));
  return known;
}

function facts({ unit, description }: MeterFacts): { unit: string; description: string } {
  return { unit, description };
}
