/** From the samples of a metric to a verdict. */
import type { Aim, Sample } from "./rows/row.ts";

/** One line of the outcome. */
export interface Verdict {
  readonly row: string;
  /** Empty where the row is about no binding. */
  readonly binding: string;
  readonly title: string;
  readonly unit: string;
  readonly samples: Samples;
  /** Medians. */
  readonly ours?: Sample | undefined;
  readonly baseline?: Sample | undefined;
  readonly ratio?: number | undefined;
  readonly aim?: Aim | undefined;
  /** Undefined where there is no aim, or nothing to judge. */
  readonly reached?: boolean | undefined;
}

/** What was measured of each, round by round. */
export interface Samples {
  readonly ours: readonly Sample[];
  readonly baseline: readonly Sample[];
}

/** What is judged. */
export interface Judged {
  readonly row: string;
  readonly binding: string;
  readonly title: string;
  readonly unit: string;
  readonly aim: Aim | undefined;
}

/** Takes medians and, unless it was a `quick` run, compares them with the aim. */
export function judge(judged: Judged, samples: Samples, quick: boolean): Verdict {
  const ours = median(samples.ours);
  const baseline = median(samples.baseline);
  const ratio = ours === undefined || baseline === undefined || baseline.value <= 0 ? undefined : ours.value / baseline.value;
  const aim = quick ? undefined : judged.aim;
  return { ...judged, samples, ours, baseline, ratio, aim, reached: aim && isReached(aim, ours?.value, baseline?.value, ratio) };
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

function median(samples: readonly Sample[]): Sample | undefined {
  const sorted = samples.toSorted((a, b) => a.value - b.value);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
