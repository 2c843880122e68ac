/** What the documents hold: code blocks, tables, links. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../e2e/server-process.ts";

/** A fenced block. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

/** A document of this repository. */
export function document(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The fenced blocks, in their order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({ language, text }));
}

/** The targets of links to files of this repository. */
export function linksOf(markdown: string): string[] {
  return [...markdown.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

/** The lines between `<!-- name -->` and `<!-- /name -->`. */
export function sectionOf(markdown: string, name: string): string {
  return new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)<!-- /${name} -->`).exec(markdown)?.[1] ?? "";
}

/** What stands under a heading of the second level, the heading included; empty where there is none. */
export function chapterOf(markdown: string, heading: string): string {
  const [, chapter = ""] = markdown.split(new RegExp(`^(?=## ${heading}$)`, "m"));
  return chapter.replace(/(?<=\n)## [\s\S]*$/, "");
}

/**
 * Whether a text has the shape of a transcript. `…` stands for anything on its line, a line of its own for any lines. Ids, times, marks and
 * durations are those of another run.
 */
export function shapeOf(transcript: string): RegExp {
  const lines = transcript.trimEnd().split("\n");
  const shapes = lines.map((line, index) => {
    if (line === "…") return "(?:.*\\n)*?";
    return line.split("…").map(literal).join(".*") + (index < lines.length - 1 ? "\\n" : "\\n*");
  });
  return new RegExp(`^${shapes.join("")}$`);
}

const VARYING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "[0-9a-f-]{36}"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\\\.\d+)?Z/g, "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z"],
  [/(\d+)\\\.[0-9a-f]{8}\b/g, "$1\\.[0-9a-f]{8}"],
  [/in \d+\\\.\d s/g, "in \\d+\\.\\d s"],
  // As Redis shows them: a shard, a mark, a time, the time in a row of an index.
  [/\\\{throughline:\d+\\\}/g, "\\{throughline:\\d+\\}"],
  [/"[0-9a-f]{8}"/g, '"[0-9a-f]{8}"'],
  [/"\d{13}"/g, '"\\d{13}"'],
  [/"00\d{13}/g, '"00\\d{13}'],
];

function literal(text: string): string {
  const escaped = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return VARYING.reduce((shape, [varying, pattern]) => shape.replace(varying, pattern), escaped);
}
