/** `npm run conformance`: makes docs/conformance.md. With `--check` it fails where the page is not as it should be, and writes nothing. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { checkTitles, conformancePage } from "./conformance/page.ts";
import { checkRules, readRules } from "./conformance/rules.ts";
import { findTitles } from "./conformance/titles.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = `${root}docs/conformance.md`;

const sections = readRules();
const rules = sections.flatMap((section) => section.rules);
const titles = findTitles(root);
const text = conformancePage(sections, titles);
const wrong = [...checkRules(rules), ...checkTitles(rules, titles)];
if (!process.argv.includes("--check")) writeFileSync(page, text);
else if (!existsSync(page) || readFileSync(page, "utf8") !== text) {
  wrong.push("docs/conformance.md is not what rules and titles make: npm run conformance");
}
for (const line of wrong) process.stderr.write(`conformance: ${line}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
