/** The outcome as text. */
import type { Verdict } from "./judge.ts";
import type { Aim, Sample } from "./rows/row.ts";

const HEAD = ["", "binding", "ours", "baseline", "unit", "ratio", "aim", "reached", "CPU server+load: ours", "baseline"];
const RIGHT = new Set(["ours", "baseline", "ratio"].map((name) => HEAD.indexOf(name)));

/** A table with one line per verdict. */
export function table(verdicts: readonly Verdict[]): string {
  const lines = [HEAD, ...verdicts.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const pad = (cell: string, column: number): string =>
    RIGHT.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

function cells({ title, binding, ours, baseline, unit, ratio, aim, reached }: Verdict): string[] {
  return [
    title,
    binding,
    figure(ours?.value),
    figure(baseline?.value),
    unit,
    ratio === undefined ? "-" : `${ratio.toFixed(2)}x`,
    aim === undefined ? "" : AIM_TEXT[aim.kind](aim.value, unit),
    reached === undefined ? "" : reached ? "yes" : "NO",
    shares(ours),
    shares(baseline),
  ];
}

const AIM_TEXT: Readonly<Record<Aim["kind"], (value: number, unit: string) => string>> = {
  "ratio-at-least": (value) => `>= ${value}x`,
  "ratio-at-most": (value) => `<= ${value}x`,
  "at-most": (value, unit) => `<= ${value} ${unit}`,
  "beyond-at-most": (value, unit) => `<= ${value} ${unit} more`,
};

function figure(value: number | undefined): string {
  if (value === undefined) return "-";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2);
}

function shares(sample: Sample | undefined): string {
  if (sample?.serverShare === undefined || sample.loadShare === undefined) return "";
  return `${Math.round(sample.serverShare * 100)}% + ${Math.round(sample.loadShare * 100)}%`;
}
