/** What the documents say of the command line, against what it does. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { QUICK, startServer } from "../e2e/server-process.ts";
import { blocksOf, chapterOf, document, sectionOf, shapeOf } from "../readme/markdown.ts";
import { session } from "../readme/session.ts";

const page = document("docs/clients.md");

suite("docs/clients.md", { timeout: 120_000 }, () => {
  test("has the exit codes as they are", () => {
    const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |\n`);
    assert.equal(sectionOf(page, "exit codes"), `| exit code | |\n| --- | --- |\n${rows.join("")}`);
  });

  test("shows what the commands print", async () => {
    await using server = await startServer(["examples/list-worker/agent.ts"], QUICK);
    const blocks = blocksOf(chapterOf(page, "The command line"));
    const prelude = `exec 2>&1\nexport THROUGHLINE_AGENT=http://127.0.0.1:${server.ports.http}\nthroughline() { node src/cli/main.ts "$@"; }\n`;
    const scripts = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
    const shown = blocks.filter(({ language }) => language === "text").map(({ text }) => text);
    assert.ok(scripts.length > 0 && scripts.length === shown.length);
    const printed = await session([`${prelude}${scripts[0]}`, ...scripts.slice(1)]);
    for (const [index, transcript] of shown.entries()) assert.match(printed[index] ?? "", shapeOf(transcript));
  });
});
