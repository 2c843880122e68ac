/** The rules of A2A 1.0, and what others' users have reported, as `rules.tsv` has them. */
import { readFileSync } from "node:fs";

/** Whose duty a rule is. Those of a client, of a webhook's receiver and of another binding's author need no test here. */
type Who = "server" | "both" | "card" | "sdk" | "client" | "webhook" | "binding";

/** One row. */
export interface Rule {
  /** `R-012`, `C-01`, `SV-01`; `P-1` for a public report, `PR-01` for a probe. */
  readonly id: string;
  readonly who: Who;
  /** What it says, in at most {@link MAX_SUMMARY} characters; empty where it is not a server's. */
  readonly summary: string;
  /** Why no test shows it; empty where one does. */
  readonly untested: string;
  /** What this server does where A2A says two things. */
  readonly ours: string;
}

/** Rules under one heading. */
export interface Section {
  readonly heading: string;
  readonly rules: readonly Rule[];
}

/** A rule's number, as it stands at the beginning of a title. */
export const RULE_ID: RegExp = /(?:R|C|SV|P|PR)-\d+/;

/** Longest summary; one of a report may name several issues. */
const MAX_SUMMARY = 120;
/** How many there are of those that are numbered without a gap. */
const COUNTS: Readonly<Record<string, number>> = { R: 390, C: 67, SV: 18, PR: 13 };
const KINDS: ReadonlySet<string> = new Set<Who>(["server", "both", "card", "sdk", "client", "webhook", "binding"]);
const OTHERS: ReadonlySet<Who> = new Set<Who>(["client", "webhook", "binding"]);

/** Whether the rule is somebody else's duty than a server's. */
export function isOthers({ who }: Rule): boolean {
  return OTHERS.has(who);
}

/** Reads the file. */
export function readRules(): readonly Section[] {
  const sections: { heading: string; rules: Rule[] }[] = [];
  for (const line of readFileSync(new URL("rules.tsv", import.meta.url), "utf8")
    .trimEnd()
    .split("\n")) {
    if (line.startsWith("# ")) {
      sections.push({ heading: line.slice(2), rules: [] });
      continue;
    }
    const [id = "", who = "", summary = "", untested = "", ours = ""] = line.split("\t");
    sections.at(-1)?.rules.push({ id, who: who as Who, summary, untested, ours });
  }
  return sections;
}

/** What is wrong with the file itself, a line each. */
export function checkRules(rules: readonly Rule[]): string[] {
  const wrong: string[] = [];
  const known = new Set<string>();
  for (const { id, who, summary, ours } of rules) {
    if (known.has(id)) wrong.push(`${id} stands in rules.tsv twice`);
    known.add(id);
    if (RULE_ID.exec(id)?.[0] !== id) wrong.push(`${JSON.stringify(id)} is no number of a rule`);
    if (!KINDS.has(who)) wrong.push(`${id} concerns ${JSON.stringify(who)}, which is nobody`);
    if (summary.length > MAX_SUMMARY) wrong.push(`${id} is summed up in ${summary.length} characters: at most ${MAX_SUMMARY}`);
    if (summary === "" && !OTHERS.has(who)) wrong.push(`${id} is not summed up`);
    if (id.startsWith("C-") && ours === "") wrong.push(`${id} does not say what is done here`);
  }
  for (const [kind, count] of Object.entries(COUNTS)) {
    const width = String(count).length;
    for (let number = 1; number <= count; number += 1) {
      const id = `${kind}-${String(number).padStart(width, "0")}`;
      if (!known.has(id)) wrong.push(`${id} is missing in rules.tsv`);
    }
  }
  return wrong;
}
