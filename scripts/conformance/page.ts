/** The page that says which test shows which rule. */
import { posix } from "node:path";
import { isOthers, type Rule, type Section } from "./rules.ts";
import type { Title } from "./titles.ts";

const HEAD = `# Conformance

Which test shows which rule of A2A 1.0. Rules have the numbers of this project's list of them; a test that proves some begins its title with
their numbers. This page is made of [the list](../scripts/conformance/rules.tsv) and of those titles: after a change of either,
\`npm run conformance\` makes it anew. \`npm run check\` fails where a rule has neither a test nor a reason, or a title has a number that there
is not.
`;

/** Most tests that one row shows; the others are counted. */
const MAX_SHOWN = 4;

/** What is not as it should be between rules and titles, a line each. */
export function checkTitles(rules: readonly Rule[], titles: readonly Title[]): string[] {
  const wrong: string[] = [];
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const proved = new Set(titles.flatMap(({ ids }) => ids));
  for (const { file, ids, text } of titles) {
    for (const id of ids) {
      const rule = byId.get(id);
      if (rule === undefined) wrong.push(`${file}: "${text}" names ${id}, which there is not`);
      else if (isOthers(rule))
        wrong.push(`${file}: "${text}" names ${id}, which is the ${rule.who}'s: there is a rule for what the server does`);
    }
  }
  for (const rule of rules) {
    if (isOthers(rule)) continue;
    if (proved.has(rule.id) && rule.untested !== "") wrong.push(`${rule.id} has a test now: take its reason out of rules.tsv`);
    if (!proved.has(rule.id) && rule.untested === "") wrong.push(`${rule.id} has no test, and no reason in rules.tsv: ${rule.summary}`);
  }
  return wrong;
}

/** The page as Markdown. */
export function conformancePage(sections: readonly Section[], titles: readonly Title[]): string {
  const rules = sections.flatMap((section) => section.rules).filter((rule) => !isOthers(rule));
  const open = rules.filter(({ untested }) => untested !== "");
  const counts = `Of ${rules.length} rows here ${rules.length - open.length} are shown by ${titles.length} titles, ${open.length} have a reason why not.\n`;
  return [HEAD, counts, ...sections.map((section) => sectionText(section, titles))].join("\n");
}

function sectionText({ heading, rules }: Section, titles: readonly Title[]): string {
  const own = rules.filter((rule) => !isOthers(rule));
  const others = rules.filter(isOthers);
  const choices = own.some(({ ours }) => ours !== "");
  const lines = [`## ${heading}`, ""];
  if (own.length > 0) {
    const columns = choices ? ["no.", "about", "here", "shown by"] : ["no.", "about", "shown by"];
    lines.push(row(columns), row(columns.map(() => "---")));
    for (const rule of own) {
      const proof = rule.untested === "" ? proofs(rule.id, titles) : `*${cell(rule.untested)}*`;
      lines.push(row([rule.id, cell(rule.summary), ...(choices ? [cell(rule.ours)] : []), proof]));
    }
    lines.push("");
  }
  if (others.length > 0) lines.push(`Not a server's: ${others.map(({ id }) => id).join(", ")}.`, "");
  return lines.join("\n");
}

/** The tests of a rule: those first that prove little else. */
function proofs(id: string, titles: readonly Title[]): string {
  const own = titles.filter(({ ids }) => ids.includes(id)).toSorted((a, b) => a.ids.length - b.ids.length);
  const shown = own.slice(0, MAX_SHOWN).map(({ file, suite, text }) => {
    const name = posix.basename(file).replace(/(\.test)?\.ts$/, "");
    return `[${name}](../${file}): ${cell(suite === "" ? text : `${suite} › ${text}`)}`;
  });
  if (own.length > MAX_SHOWN) shown.push(`and ${own.length - MAX_SHOWN} more`);
  return shown.join("<br>");
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("*", "\\*");
}
