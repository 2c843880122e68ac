/** Whether figures stay flat. */
import type { Sample } from "./figures.ts";

/** What a figure may rise by, in shares of itself and in its unit: what a steady load sways by, not what a leak brings. */
const ALLOWED: readonly (readonly [name: RegExp, share: number, plus: number])[] = [
  // A process keeps what it once had: resident memory follows the peaks of its load.
  [/rss MB$/, 0.25, 30],
  [/heap MB$/, 0.1, 5],
  [/handles$|files$/, 0.1, 15],
  [/timers$/, 0.25, 40],
  [/^redis MB$/, 0.15, 3],
  [/^redis keys$/, 0.2, 150],
  [/^redis connections$/, 0, 1],
  [/^redis channels$/, 0.25, 40],
];

/** The rule, in a sentence. */
export const RULE =
  "after warm-up the median of the last third of a figure's samples may lie above that of the first third by a share and an amount";

/** How a figure has gone. */
export interface Course {
  readonly name: string;
  /** Medians of the first and the last third. */
  readonly early: number;
  readonly late: number;
  /** The most that `late` may be. */
  readonly most: number;
}

/** Compares the ends of each figure's course; `samples` are those after warm-up, at least three. */
export function courses(samples: readonly Sample[]): Course[] {
  const third = Math.max(1, Math.floor(samples.length / 3));
  return Object.keys(samples[0] ?? {}).map((name) => {
    const values = samples.map((sample) => sample[name] ?? Number.NaN);
    const [early, late] = [median(values.slice(0, third)), median(values.slice(-third))];
    const [, share, plus] = ALLOWED.find(([pattern]) => pattern.test(name)) ?? [name, 0, 0];
    return { name, early, late, most: early * (1 + share) + plus };
  });
}

/** Those that are not flat. */
export function risen(all: readonly Course[]): Course[] {
  return all.filter(({ late, most }) => !(late <= most));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
