/** The table of docs/performance.md, made of results.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CLIENT_ROWS } from "./client/index.ts";
import { BINDINGS } from "./drivers/driver.ts";
import type { Result, Results } from "./results.ts";
import { ROWS } from "./rows/index.ts";
import { START } from "./start.ts";
import { STORE_ROWS } from "./store/index.ts";
import { AIM_TEXT, figure } from "./table.ts";

const FILE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const BEGIN = "<!-- bench -->";
const END = "<!-- /bench -->";
const HEAD = ["row", "what", "binding", "unit", "ours", "js", "Go", "Python", "floor", "aims"];
const BINDING_NAMES: Readonly<Record<string, string>> = {
  grpc: "gRPC",
  connect: "Connect",
  grpcweb: "gRPC-Web",
  rest: "HTTP+JSON",
  jsonrpc: "JSON-RPC",
};
const ORDER: readonly { readonly name: string; readonly metrics: readonly { readonly key: string }[] }[] = [
  ...ROWS,
  START,
  ...CLIENT_ROWS,
  ...STORE_ROWS,
];
/** In a column of their own; any other baseline is a floor. */
const PEERS = ["js", "go", "python"];

/** Puts the table into the page. */
export function writePage(results: Results): void {
  writeFileSync(FILE, withTable(readFileSync(FILE, "utf8"), results));
}

/** A page with the table between its marks. Throws where it has none. */
export function withTable(page: string, results: Results): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`the page has no ${BEGIN} with ${END} after it`);
  return `${page.slice(0, from + BEGIN.length)}\n${performanceTable(results)}\n${page.slice(to)}`;
}

/** One line for each figure, over all that it is beside. */
export function performanceTable({ host, results }: Results): string {
  const groups = Map.groupBy(results.toSorted(inOrder), ({ row, store, binding, key }) => [row, store, binding, key].join(" "));
  const lines = [...groups.values()].flatMap(linesOf);
  const days = results.map(({ at }) => at).toSorted();
  const when = days.at(0) === days.at(-1) ? days.at(0) : `${days.at(0)} to ${days.at(-1)}`;
  return [
    `${host.cores} cores, Node ${host.node.replace(/^v/u, "")}, measured ${when}.`,
    "",
    line(HEAD),
    line(HEAD.map((_, column) => (column >= 4 && column <= 8 ? "---:" : "---"))),
    ...lines.map(line),
  ].join("\n");
}

function inOrder(a: Result, b: Result): number {
  const [one, other] = [placeOf(a), placeOf(b)];
  const at = one.findIndex((place, index) => place !== other[index]);
  return at === -1 ? 0 : (one[at] as number) - (other[at] as number);
}

/** Rows as they are run, memory before Redis, all bindings of a metric together. */
function placeOf({ row, store, key, binding, beside }: Result): readonly number[] {
  const at = ORDER.findIndex(({ name }) => name === row);
  const metric = ORDER[at]?.metrics.findIndex((one) => one.key === key) ?? -1;
  const bindings: readonly string[] = BINDINGS;
  return [at, store === "memory" ? 0 : 1, metric, bindings.indexOf(binding), PEERS.indexOf(beside)];
}

function linesOf(group: readonly Result[]): string[][] {
  const [{ row, title, binding, unit, store, ours }] = group as [Result];
  const sideBySide = ROWS.some(({ name }) => name === row);
  const what = sideBySide && store === "redis" ? `${title}; ours on Redis` : title;
  const names = [row, what, BINDING_NAMES[binding] ?? ""];
  const beside = (name: string): Result | undefined => group.find((result) => result.beside === name);
  const floor = group.find((result) => !PEERS.includes(result.beside));
  const columns = [...PEERS.map(beside), floor];
  const aims = new Set(group.flatMap(aimOf));
  const lines = [[...names, unit, figure(ours?.value), ...columns.map((result) => cell(result, unit, false)), [...aims].join(", ")]];
  if (ours?.cpuEach !== undefined && columns.some((result) => result?.cpuRatio !== undefined)) {
    names[1] = `${what}: server CPU for each`;
    lines.push([...names, "µs", figure(ours.cpuEach), ...columns.map((result) => cell(result, "µs", true)), ""]);
  }
  return lines;
}

/** The figure, and how many times better ours is; bold where it is not. */
function cell(result: Result | undefined, unit: string, cpu: boolean): string {
  if (result?.failed === true) return "fails";
  const [value, ratio] = cpu ? [result?.baseline?.cpuEach, result?.cpuRatio] : [result?.baseline?.value, result?.ratio];
  if (value === undefined || ratio === undefined) return "–";
  const better = unit.endsWith("/s") ? ratio : 1 / ratio;
  const times = `${better.toFixed(better < 10 ? 2 : 0)}x`;
  return `${figure(value)} (${better < 0.995 ? `**${times}**` : times})`;
}

/** What is not aimed at by name, as to be first beside Python, is told only where it is missed. */
function aimOf({ aim, unit, beside, reached }: Result): string[] {
  if (aim === undefined || reached === undefined || (reached && (beside === "go" || beside === "python"))) return [];
  // Some say nothing about what it is beside.
  const named = beside !== "" && aim.kind !== "at-most";
  const text = `${AIM_TEXT[aim.kind](aim.value, unit)}${named ? ` ${beside}` : ""}`;
  return [reached ? text : `**missed: ${text}**`];
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
