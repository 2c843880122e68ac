/** The measures of a server as metrics of OpenTelemetry. */
import { type BatchObservableCallback, type Counter, type Meter, metrics, type Observable } from "@opentelemetry/api";
import { type TaskState, TaskStateSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AppendOutcome, Backlog, DeliveryOutcome, Measures, RenewalOutcome, Takeover } from "../../core/telemetry.ts";
import { EventLoop } from "./event-loop.ts";
import { type MeterFacts, METERS } from "./meters-list.ts";
import { Tallies, type Tally } from "./tallies.ts";

/** Boundaries of durations, in seconds: from an append in memory to one that waited for a store that was away. */
const BOUNDARIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** At most one sample of the delivery lag in so many milliseconds: hundreds of followers may get one entry. */
const SAMPLE_MS = 1;

/** States in which a task can come to rest, and what they are called in a label. */
const RESTS: readonly (readonly [number, string])[] = TaskStateSchema.values
  .map(({ number, localName }) => [number, localName.toLowerCase()] as const)
  .filter(([, name]) => METERS.ended.labels.state.some((state) => state === name));

/** What is looked at when metrics are collected. */
export interface Observed {
  /** Whether the store is likely to answer. */
  readonly available: () => boolean;
  /** Bytes that were handed to sockets so far. */
  readonly sent: () => number;
  /** Bytes that readers have not taken yet. */
  readonly egress: () => Readonly<Record<(typeof METERS.egress.labels.kind)[number], number>>;
}

/** Measures on the global meter provider, as it is when this is made: without one they do nothing. Dispose them with their server. */
export class Meters implements Measures, Disposable {
  readonly #meter: Meter = metrics.getMeter("throughline");
  readonly #appends = histogram(this.#meter, METERS.appends);
  readonly #fenced = counter(this.#meter, METERS.fenced);
  readonly #lag = histogram(this.#meter, METERS.lag);
  /** Of whatever happens in every call; told when metrics are collected. */
  readonly tallies = new Tallies();
  readonly #running = this.tallies.of(this.#meter.createUpDownCounter(METERS.running.name, METERS.running));
  readonly #waiting = this.#meter.createGauge(METERS.waiting.name, METERS.waiting);
  readonly #ended = this.#endedTurns();
  readonly #takeovers = counter(this.#meter, METERS.takeovers);
  readonly #renewals = counter(this.#meter, METERS.renewals);
  readonly #deliveries = counter(this.#meter, METERS.deliveries);
  readonly #parked = counter(this.#meter, METERS.parked);
  readonly #backlog = this.#meter.createGauge(METERS.backlog.name, METERS.backlog);
  readonly #reads = this.#snapshotReads();
  readonly #kept = this.#meter.createGauge(METERS.kept.name, METERS.kept);
  readonly #reconnects = counter(this.#meter, METERS.reconnects);
  readonly #sent = counter(this.#meter, METERS.sent);
  #sampledAt = -Infinity;
  /** Bytes of folds that are kept, and those that were sent until metrics were last collected. */
  #keptBytes = 0;
  #sentBefore = 0;
  #stop: () => void = () => undefined;

  /** Begins to look at what is looked at. */
  observe({ available, sent, egress }: Observed): void {
    const [store, bytes, delay, utilization, memory] = (["available", "egress", "delay", "utilization", "memory"] as const).map((key) =>
      this.#meter.createObservableGauge(METERS[key].name, METERS[key]),
    ) as [Observable, Observable, Observable, Observable, Observable];
    const loop = new EventLoop();
    const look: BatchObservableCallback = (result) => {
      result.observe(store, available() ? 1 : 0);
      this.#tellFresh(sent());
      for (const [kind, size] of Object.entries(egress())) result.observe(bytes, size, { kind });
      const { delays, busy } = loop.look();
      for (const [quantile, seconds] of Object.entries(delays)) result.observe(delay, seconds, { quantile });
      result.observe(utilization, busy);
      result.observe(memory, process.memoryUsage.rss());
    };
    const observables = [store, bytes, delay, utilization, memory];
    this.#meter.addBatchObservableCallback(look, observables);
    this.#stop = () => {
      this.#meter.removeBatchObservableCallback(look, observables);
      this.#tellFresh(sent());
      loop.stop();
    };
  }

  /** By the state. */
  #endedTurns(): ReadonlyMap<number, Tally> {
    const ended = this.#meter.createCounter(METERS.ended.name, METERS.ended);
    return new Map(RESTS.map(([number, state]) => [number, this.tallies.of(ended, { state })]));
  }

  #snapshotReads(): Readonly<Record<"hit" | "miss", Tally>> {
    const reads = this.#meter.createCounter(METERS.reads.name, METERS.reads);
    return { hit: this.tallies.of(reads, { cache: "hit" }), miss: this.tallies.of(reads, { cache: "miss" }) };
  }

  /** Added, not observed: servers in one process add up. */
  #tellFresh(sent: number): void {
    this.tallies.tell();
    this.#kept.record(this.#keptBytes);
    this.#sent.add(sent - this.#sentBefore);
    this.#sentBefore = sent;
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  appended(outcome: AppendOutcome, ms: number): void {
    this.#appends.record(ms / 1000, { outcome });
    if (outcome === "fenced") this.#fenced.add(1);
  }

  handedOver(ms: number): void {
    const now = performance.now();
    if (now - this.#sampledAt < SAMPLE_MS) return;
    this.#sampledAt = now;
    this.#lag.record(ms / 1000);
  }

  turnBegan(): void {
    this.#running.add(1);
  }

  turnOver(): void {
    this.#running.add(-1);
  }

  cameToRest(state: TaskState): void {
    this.#ended.get(state)?.add(1);
  }

  swept({ waiting, due }: Backlog): void {
    this.#waiting.record(waiting);
    this.#backlog.record(due);
  }

  tookOver(how: Takeover): void {
    this.#takeovers.add(1, { how });
  }

  renewed(outcome: RenewalOutcome, leases: number): void {
    this.#renewals.add(leases, { outcome });
  }

  posted(outcome: DeliveryOutcome): void {
    this.#deliveries.add(1, { outcome });
  }

  parked(): void {
    this.#parked.add(1);
  }

  snapshotRead(hit: boolean): void {
    this.#reads[hit ? "hit" : "miss"].add(1);
  }

  snapshotsKept(bytes: number): void {
    this.#keptBytes = bytes;
  }

  reconnected(): void {
    this.#reconnects.add(1);
  }
}

/** A counter that begins at zero: of what is not there yet no rate is seen. */
function counter(meter: Meter, { name, description, unit, labels = {} }: MeterFacts): Counter {
  const made = meter.createCounter(name, { description, unit });
  const [label] = Object.entries(labels);
  for (const value of label?.[1] ?? [undefined]) made.add(0, label && { [label[0]]: value });
  return made;
}

function histogram(meter: Meter, { name, description, unit }: MeterFacts): ReturnType<Meter["createHistogram"]> {
  return meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: BOUNDARIES } });
}
