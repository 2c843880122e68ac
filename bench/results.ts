/** results.json: what was last measured of each row, whichever run that was. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Verdict } from "./judge.ts";
import type { Store } from "./rows/row.ts";

const FILE = fileURLToPath(new URL("results.json", import.meta.url));
const DIGITS = 4;

/** A verdict, and of which run it is. */
export interface Result extends Verdict {
  /** Where ours kept its tasks. */
  readonly store: Store;
  /** The day. */
  readonly at: string;
  readonly rounds: number;
  /** Processes that wanted the machine's cores before the run began. */
  readonly load: number;
}

/** All that is known. */
export interface Results {
  readonly host: { readonly cores: number; readonly node: string };
  readonly results: readonly Result[];
}

/** Of the runs so far. */
export function readResults(): Results {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Results) : { host: { cores: 0, node: "" }, results: [] };
}

/** With the new ones in place of the old ones of the same figure. */
export function merge(known: Results, fresh: Results): Results {
  const names = new Set(fresh.results.map(nameOf));
  return { host: fresh.host, results: [...known.results.filter((result) => !names.has(nameOf(result))), ...fresh.results] };
}

/** One result a line. */
export function writeResults({ host, results }: Results): void {
  const lines = results.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).map((result) => `    ${JSON.stringify(result, short)}`);
  writeFileSync(FILE, `{\n  "host": ${JSON.stringify(host)},\n  "results": [\n${lines.join(",\n")}\n  ]\n}\n`);
}

function nameOf({ row, key, binding, beside, store }: Result): string {
  return [row, store, binding, key, beside].join(" ");
}

function short(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value;
}
