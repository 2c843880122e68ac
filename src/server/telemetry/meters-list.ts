/** Every metric of the domain and of the process: name, unit, meaning, and all values that a label can have. docs/observability.md shows them. */

/** `observed`: a gauge that is looked at when metrics are collected. */
type MeterKind = "counter" | "gauge" | "histogram" | "observed" | "running";

/** One metric. */
export interface MeterFacts {
  readonly kind: MeterKind;
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly labels?: Readonly<Record<string, readonly string[]>>;
}

/** The metrics, by what the code calls them. */
export const METERS = {
  appends: {
    kind: "histogram",
    name: "throughline.log.append.duration",
    unit: "s",
    description: "Time until the store has answered an append of a task's owner",
    labels: { outcome: ["stored", "refused", "fenced", "failed"] },
  },
  fenced: {
    kind: "counter",
    name: "throughline.log.append.fenced",
    unit: "{append}",
    description: "Appends that were refused because the lease is another replica's",
  },
  lag: {
    kind: "histogram",
    name: "throughline.log.delivery.lag",
    unit: "s",
    description:
      "Time from an append until a follower that was waiting has the entry, by the clocks of the store and of this replica; sampled",
  },
  running: { kind: "running", name: "throughline.turns.running", unit: "{turn}", description: "Turns that run on this replica" },
  waiting: {
    kind: "gauge",
    name: "throughline.turns.waiting",
    unit: "{task}",
    description: "Tasks in the store that wait for a replica to take them, by the last sweep; every replica tells the same",
  },
  ended: {
    kind: "counter",
    name: "throughline.turns.ended",
    unit: "{turn}",
    description: "Tasks that their owner has brought to rest, by the state that they are in then",
    labels: { state: ["completed", "failed", "canceled", "rejected", "input_required", "auth_required"] },
  },
  takeovers: {
    kind: "counter",
    name: "throughline.turns.takeovers",
    unit: "{turn}",
    description: "Turns that had been begun before and were taken over here, by what was done with them",
    labels: { how: ["resumed", "failed", "canceled"] },
  },
  renewals: {
    kind: "counter",
    name: "throughline.lease.renewals",
    unit: "{lease}",
    description: "Renewals of leases; fenced: the lease was lost, failed: the store did not answer",
    labels: { outcome: ["held", "fenced", "failed"] },
  },
  deliveries: {
    kind: "counter",
    name: "throughline.webhook.deliveries",
    unit: "{attempt}",
    description: "Attempts to deliver to webhooks",
    labels: { outcome: ["delivered", "retry", "refused", "gone"] },
  },
  parked: {
    kind: "counter",
    name: "throughline.webhook.parked",
    unit: "{webhook}",
    description: "Webhooks that were given up until they are written again",
  },
  backlog: {
    kind: "gauge",
    name: "throughline.webhook.backlog",
    unit: "{task}",
    description:
      "Tasks in the store with something due for a webhook that no replica works on, by the last sweep; every replica tells the same",
  },
  reads: {
    kind: "counter",
    name: "throughline.snapshot.reads",
    unit: "{read}",
    description: "Tasks that were asked for; hit: from the cache, with what has come since, miss: from the store",
    labels: { cache: ["hit", "miss"] },
  },
  kept: {
    kind: "gauge",
    name: "throughline.snapshot.cache.size",
    unit: "By",
    description: "Bytes of tasks in the cache, at most cacheBytes",
  },
  egress: {
    kind: "observed",
    name: "throughline.egress.size",
    unit: "By",
    description: "Bytes that readers have not taken yet: large frames on their way, large frames that wait for room, replies",
    labels: { kind: ["sending", "waiting", "replies"] },
  },
  sent: {
    kind: "counter",
    name: "throughline.egress.sent",
    unit: "By",
    description: "Bytes of stream frames and large replies that were handed to sockets, before TLS",
  },
  reconnects: {
    kind: "counter",
    name: "throughline.redis.reconnects",
    unit: "{connection}",
    description: "Connections to Redis that were lost and stand again",
  },
  available: { kind: "observed", name: "throughline.store.available", unit: "1", description: "1 while the store is there, else 0" },
  delay: {
    kind: "observed",
    name: "throughline.eventloop.delay",
    unit: "s",
    description: "How late the event loop was since metrics were last collected",
    labels: { quantile: ["0.5", "0.99", "1"] },
  },
  utilization: {
    kind: "observed",
    name: "throughline.eventloop.utilization",
    unit: "1",
    description: "Part of the time in which the event loop was busy since metrics were last collected",
  },
  memory: { kind: "observed", name: "throughline.memory.size", unit: "By", description: "Resident memory of the process" },
} as const satisfies Readonly<Record<string, MeterFacts>>;
