/** What a row about the Redis store is: it measures ours and its baseline itself, in turns, on a Redis that nobody else uses. */
import type { RedisServer } from "../../test/redis/redis-server.ts";
import type { Aim } from "../rows/row.ts";

export interface StoreRow {
  readonly name: string;
  readonly metrics: readonly StoreMetric[];
  /** Measures once and answers a pair per metric key. */
  run(context: StoreContext): Promise<Readonly<Record<string, Pair>>>;
}

interface StoreMetric {
  readonly key: string;
  /** What is measured, and after `÷` what its baseline is. */
  readonly title: string;
  readonly unit: string;
  /** What ours is to reach; undefined where the figure only explains another. */
  readonly aim?: Aim | undefined;
}

/** One figure of ours and of its baseline; some have none. */
export interface Pair {
  readonly ours: number;
  readonly baseline?: number;
}

export interface StoreContext {
  /** Started for this round. */
  readonly redis: RedisServer;
  /** Whether to do the least that shows that the row works. */
  readonly quick: boolean;
  /** Where processes that the row starts put their CPU profiles. */
  readonly profileDir: string | undefined;
}

/** The value below which `share` of all lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
