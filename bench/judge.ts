/** From the samples of a metric to a verdict. */
import type { Aim, Sample } from "./rows/row.ts";

/** One line of the outcome. */
export interface Verdict {
  readonly row: string;
  /** Of the metric in its row. */
  readonly key: string;
  /** Empty where the row is about no binding. */
  readonly binding: string;
  /** What the baseline is; empty where the title says it. */
  readonly beside: string;
  readonly title: string;
  readonly unit: string;
  readonly samples: Samples;
  /** Medians. */
  readonly ours?: Sample | undefined;
  readonly baseline?: Sample | undefined;
  /** Median of the ratios of each round: its two sides were measured one after the other, under the same conditions. */
  readonly ratio?: number | undefined;
  /** The least and the largest of them. */
  readonly spread?: readonly [number, number] | undefined;
  /** The same of the server CPU for each of what a rate counts. */
  readonly cpuRatio?: number | undefined;
  readonly aim?: Aim | undefined;
  /** Undefined where there is no aim, or nothing to judge. */
  readonly reached?: boolean | undefined;
  /** The baseline could not do it. */
  readonly failed?: boolean | undefined;
}

/** What was measured of each, round by round. */
export interface Samples {
  readonly ours: readonly Sample[];
  readonly baseline: readonly Sample[];
}

/** What is judged. */
export interface Judged {
  readonly row: string;
  readonly key: string;
  readonly binding: string;
  readonly beside: string;
  readonly title: string;
  readonly unit: string;
  readonly aim: Aim | undefined;
  readonly failed?: boolean;
}

/** Takes medians and, unless it was a `quick` run, compares them with the aim. */
export function judge(judged: Judged, samples: Samples, quick: boolean): Verdict {
  const [ours, baseline] = [samples.ours, samples.baseline].map(typical);
  const ratios = ratiosOf(samples, ({ value }) => value);
  const ratio = median(ratios);
  const cpuRatio = median(ratiosOf(samples, ({ cpuEach }) => cpuEach));
  const spread = ratio === undefined ? undefined : ([Math.min(...ratios), Math.max(...ratios)] as const);
  const aim = quick ? undefined : judged.aim;
  return {
    ...judged,
    samples,
    ours,
    baseline,
    ratio,
    spread,
    cpuRatio,
    aim,
    reached: aim && isReached(aim, ours?.value, baseline?.value, ratio),
  };
}

function isReached({ kind, value }: Aim, ours = NaN, baseline = NaN, ratio = NaN): boolean | undefined {
  const figures: Readonly<Record<Aim["kind"], number>> = {
    "at-most": ours,
    "beyond-at-most": ours - baseline,
    "ratio-at-least": ratio,
    "ratio-at-most": ratio,
  };
  const figure = figures[kind];
  if (Number.isNaN(figure)) return undefined;
  return kind === "ratio-at-least" ? figure >= value : figure <= value;
}

/** Of each round; none where there is nothing to compare. */
function ratiosOf({ ours, baseline }: Samples, of: (sample: Sample) => number | undefined): number[] {
  return ours.flatMap((sample, round) => {
    const beside = baseline[round];
    const [value, other = 0] = [of(sample), beside && of(beside)];
    return value !== undefined && other > 0 ? value / other : [];
  });
}

/** The sample whose value is the median, with the median of what each took. */
function typical(samples: readonly Sample[]): Sample | undefined {
  const found = middleOf(samples.toSorted((a, b) => a.value - b.value));
  const cpuEach = median(samples.flatMap((sample) => sample.cpuEach ?? []));
  return found === undefined || cpuEach === undefined ? found : { ...found, cpuEach };
}

function median(values: readonly number[]): number | undefined {
  return middleOf(values.toSorted((a, b) => a - b));
}

function middleOf<T>(sorted: readonly T[]): T | undefined {
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
