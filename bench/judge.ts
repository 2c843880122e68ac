/** From the samples of a metric to a verdict. */
import type { Binding } from "./drivers/driver.ts";
import type { Side } from "./processes.ts";
import type { Aim, Metric, Sample } from "./rows/row.ts";

/** One line of the outcome. */
export interface Verdict {
  readonly row: string;
  readonly binding: Binding;
  readonly title: string;
  readonly unit: string;
  readonly samples: Readonly<Partial<Record<Side, readonly Sample[]>>>;
  /** Medians. */
  readonly ours?: Sample | undefined;
  readonly js?: Sample | undefined;
  readonly ratio?: number | undefined;
  readonly aim?: Aim | undefined;
  /** Undefined where there is no aim, or nothing to judge. */
  readonly reached?: boolean | undefined;
}

export type Samples = Readonly<Partial<Record<Side, readonly Sample[]>>>;

/** Takes medians and, unless it was a `quick` run, compares them with the aim. */
export function judge(row: string, binding: Binding, metric: Metric, samples: Samples, quick: boolean): Verdict {
  const ours = median(samples.ours);
  const js = median(samples.js);
  const ratio = ours === undefined || js === undefined || js.value <= 0 ? undefined : ours.value / js.value;
  const aim = quick ? undefined : metric.aim?.(binding);
  const { title, unit } = metric;
  return { row, binding, title, unit, samples, ours, js, ratio, aim, reached: aim && isReached(aim, ours?.value, ratio) };
}

function isReached({ kind, value }: Aim, ours: number | undefined, ratio: number | undefined): boolean | undefined {
  const figure = kind === "at-most" ? ours : ratio;
  if (figure === undefined) return undefined;
  return kind === "ratio-at-least" ? figure >= value : figure <= value;
}

function median(samples: readonly Sample[] = []): Sample | undefined {
  const sorted = samples.toSorted((a, b) => a.value - b.value);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
