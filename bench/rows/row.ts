/** What a row of the benchmark is. A row runs in the load process; its metrics are judged and printed in the main one. */
import type { Binding, Driver } from "../drivers/driver.ts";
import type { Stats } from "../server-process.ts";

export interface Row {
  readonly name: string;
  readonly metrics: readonly Metric[];
  /** Whether each measurement needs a server that has served nothing before. Default false. */
  readonly fresh?: boolean;
  /** Whether it is about tasks that are kept, which bare grpc-js does not. Default false. */
  readonly keeps?: boolean;
  /** Default: all of them. */
  readonly bindings?: readonly Binding[];
  /** Replicas of ours that share the load where they share a store. Default 1. */
  readonly replicas?: number;
  /** Measures once and answers a sample per metric key. */
  run(context: RowContext): Promise<Readonly<Record<string, Sample>>>;
}

/** One figure of a row. */
export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  /** What ours is to reach beside `@a2a-js/sdk`; undefined where the figure only explains another. */
  readonly aim?: (binding: Binding, store: Store) => Aim | undefined;
  /** The share of what grpc-js does alone that ours is to reach. */
  readonly floor?: number;
}

/** Where ours keeps its tasks; the other side keeps them in its own memory. */
export const STORES = ["memory", "redis"] as const;
export type Store = (typeof STORES)[number];

/** At least or at most so many times the figure of the baseline, at most this figure, or at most so much more than the baseline. */
export type Aim =
  | { readonly kind: "ratio-at-least"; readonly value: number }
  | { readonly kind: "ratio-at-most"; readonly value: number }
  | { readonly kind: "at-most"; readonly value: number }
  | { readonly kind: "beyond-at-most"; readonly value: number };

/** One figure, with the share of a core that each process took meanwhile. A load process near 1 is itself the limit. */
export interface Sample {
  readonly value: number;
  readonly serverShare?: number;
  readonly loadShare?: number;
  /** CPU of the server for each of what a rate counts, in microseconds. Other work on the machine slows a rate more than it changes this. */
  readonly cpuEach?: number;
}

export interface RowContext {
  readonly binding: Binding;
  /** Whether to do the least that shows that the row works. */
  readonly quick: boolean;
  /** Opens connections, closed when the row ends. gRPC spreads calls over `connections`. Where there is one replica it is every one. */
  readonly open: (connections: number, replica?: number) => Driver;
  /** Memory and CPU of the server, all its replicas together. */
  readonly stats: (gc: boolean) => Promise<Stats>;
  /** Runs `work` and says how long it took and what both processes spent. */
  readonly measure: <T>(work: () => Promise<T>) => Promise<Measured<T>>;
}

export interface Measured<T> {
  readonly result: T;
  readonly seconds: number;
  /** CPU in microseconds. */
  readonly serverCpu: number;
  readonly loadCpu: number;
}

/** A sample of a measured stretch; `seconds` where the figure covers only a part of it. */
export function sample(value: number, { seconds, serverCpu, loadCpu }: Omit<Measured<unknown>, "result">): Sample {
  return { value, serverShare: serverCpu / seconds / 1e6, loadShare: loadCpu / seconds / 1e6 };
}

/** How many of something there were in each second of such a stretch. */
export function rate(count: number, cost: Omit<Measured<unknown>, "result">): Sample {
  return { ...sample(count / cost.seconds, cost), cpuEach: cost.serverCpu / count };
}
