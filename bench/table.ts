/** The outcome as text. */
import type { Verdict } from "./judge.ts";
import type { Aim, Sample } from "./rows/row.ts";

/** A column: what stands above it, and in it. Figures stand at its right. */
type Column = readonly [head: string, cell: (verdict: Verdict) => string, place?: "right"];

const COLUMNS: readonly Column[] = [
  ["", ({ title }) => title],
  ["binding", ({ binding }) => binding],
  ["ours", ({ ours }) => figure(ours?.value) || "-", "right"],
  ["baseline", ({ baseline, failed }) => (failed === true ? "fails" : figure(baseline?.value) || "-"), "right"],
  ["beside", ({ beside }) => beside],
  ["unit", ({ unit }) => unit],
  ["ratio", ({ ratio }) => times(ratio) || "-", "right"],
  ["of rounds", ({ spread, samples }) => (samples.ours.length < 2 ? "" : (spread ?? []).map((value) => value.toFixed(2)).join(" to "))],
  ["aim", ({ aim, unit }) => (aim === undefined ? "" : AIM_TEXT[aim.kind](aim.value, unit))],
  ["reached", ({ reached }) => (reached === undefined ? "" : reached ? "yes" : "NO")],
  ["CPU server+load: ours", ({ ours }) => shares(ours)],
  ["baseline", ({ baseline }) => shares(baseline)],
  ["server µs for each: ours", ({ ours }) => figure(ours?.cpuEach), "right"],
  ["baseline", ({ baseline }) => figure(baseline?.cpuEach), "right"],
  ["ratio", ({ cpuRatio }) => times(cpuRatio), "right"],
];

/** A table with one line per verdict. */
export function table(verdicts: readonly Verdict[]): string {
  const lines = [COLUMNS.map(([head]) => head), ...verdicts.map((verdict) => COLUMNS.map(([, cell]) => cell(verdict)))];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const pad = (cell: string, column: number): string =>
    COLUMNS[column]?.[2] === "right" ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

/** An aim as text. */
export const AIM_TEXT: Readonly<Record<Aim["kind"], (value: number, unit: string) => string>> = {
  "ratio-at-least": (value) => `>= ${Number(value.toFixed(2))}x`,
  "ratio-at-most": (value) => `<= ${Number(value.toFixed(2))}x`,
  "at-most": (value, unit) => `<= ${value} ${unit}`,
  "beyond-at-most": (value, unit) => `<= ${value} ${unit} more`,
};

/** A figure as text; nothing where there is none. */
export function figure(value: number | undefined): string {
  if (value === undefined) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2);
}

function times(ratio: number | undefined): string {
  return ratio === undefined ? "" : `${ratio.toFixed(2)}x`;
}

function shares(sample: Sample | undefined): string {
  if (sample?.serverShare === undefined || sample.loadShare === undefined) return "";
  return `${Math.round(sample.serverShare * 100)}% + ${Math.round(sample.loadShare * 100)}%`;
}
