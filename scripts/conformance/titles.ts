/** Titles of tests that begin with the numbers of the rules that they prove. */
import { globSync, readFileSync } from "node:fs";
import { RULE_ID } from "./rules.ts";

/** A test, or a suite whose tests prove a rule together. */
export interface Title {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Title of the suite around it; empty where there is none. */
  readonly suite: string;
  readonly ids: readonly string[];
  /** What stands behind the numbers; `…` for what the test fills in. */
  readonly text: string;
}

const FILES = ["test/**/*.ts", "src/testing/contract/*.ts"];
/** What a client does is not on the page of the server. */
const NOT_THE_SERVERS = ["test/client/**", "test/cli/**", "test/bindings/transport/**"];

// A literal wherever it stands: titles come by tables and helpers too.
const LITERAL = new RegExp(`(["\`])((?:${RULE_ID.source} )+)((?:\\\\[^]|(?!\\1)[^\\\\])*)\\1`, "g");
const SUITE = /^( *)suite\(\s*(["`])((?:\\.|(?!\2)[^\\])*)\2/gm;

/** Reads every title with a number, in the order of files and lines. `root` is the repository's. */
export function findTitles(root: string): Title[] {
  const files = globSync(FILES, { cwd: root, exclude: NOT_THE_SERVERS }).toSorted();
  return files.flatMap((file) => titlesIn(file, readFileSync(`${root}/${file}`, "utf8")));
}

function titlesIn(file: string, source: string): Title[] {
  const suites = [...source.matchAll(SUITE)].map((match) => ({ at: match.index, indent: match[1]?.length ?? 0, text: match[3] ?? "" }));
  return [...source.matchAll(LITERAL)].map(({ index, 2: numbers = "", 3: text = "" }) => {
    const line = source.slice(source.lastIndexOf("\n", index) + 1, index);
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    const around = suites.findLast((suite) => suite.at < index && suite.indent < indent);
    return { file, suite: shown(around?.text ?? ""), ids: numbers.trim().split(" "), text: shown(text) };
  });
}

/** A title as people read it: without numbers, escapes and code. */
function shown(literal: string): string {
  return literal
    .replace(new RegExp(`^(?:${RULE_ID.source} )+`), "")
    .replace(/\$\{[^}]*\}/g, "…")
    .replace(/\\(.)/g, "$1");
}
