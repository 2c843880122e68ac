/** Rows that measure ours and its baseline themselves, in turns, in a process of their own. */
import type { Aim } from "./row.ts";

export interface PairRow<C> {
  readonly name: string;
  readonly metrics: readonly PairMetric[];
  /** The program that it cannot do without, where that is one that may be missing. */
  readonly needs?: string;
  /** Measures once and answers a pair per metric key. */
  run(context: C): Promise<Readonly<Record<string, Pair>>>;
}

interface PairMetric {
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

/** What the parent asks such a process for. */
export interface PairOrder {
  readonly row: string;
  readonly quick: boolean;
  readonly profileDir: string | undefined;
}
