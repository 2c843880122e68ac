/** What docs/acceptance.md shows, against what happens. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { FileRecords, RecordReader } from "../../src/client/index.ts";
import { recordOf } from "../client/acceptance-record.ts";
import { CliProcess, QUICK, ROOT, startServer } from "../e2e/server-process.ts";
import { blocksOf, chapterOf, document, shapeOf } from "../readme/markdown.ts";
import { session } from "../readme/session.ts";
import { Snippets } from "../readme/snippets.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

const page = document("docs/acceptance.md");

/** The commands of a chapter and what each block of them prints. */
function transcriptsOf(chapter: string): { readonly scripts: string[]; readonly shown: string[] } {
  const blocks = blocksOf(chapterOf(page, chapter));
  const of = (wanted: string): string[] => blocks.filter(({ language }) => language === wanted).map(({ text }) => text);
  const [scripts, shown] = [of("sh"), of("text")];
  assert.ok(scripts.length > 0 && scripts.length === shown.length);
  return { scripts, shown };
}

suite("docs/acceptance.md", { timeout: 240_000 }, () => {
  const folder = temporaryFolder("acceptance-page");
  after(() => removeFolder(folder));

  test("shows what the commands print", async () => {
    await using server = await startServer(["examples/report/agent.ts"], QUICK);
    const { scripts, shown } = transcriptsOf("From a terminal");
    const prelude = [
      "exec 2>&1",
      `export THROUGHLINE_AGENT=http://127.0.0.1:${server.ports.http} THROUGHLINE_RECORDS='${join(folder, "terminal")}'`,
      `throughline() { '${process.execPath}' '${join(ROOT, "src/cli/main.ts")}' "$@"; }`,
    ].join("\n");
    const printed = await session([`${prelude}\n${scripts[0]}`, ...scripts.slice(1)]);
    for (const [index, transcript] of shown.entries()) assert.match(printed[index] ?? "", shapeOf(transcript));
  });

  test("has a program that accepts a report", async () => {
    await using server = await startServer(["examples/report/agent.ts"], QUICK);
    using snippets = new Snippets();
    const [code, ...more] = blocksOf(page).filter(({ language }) => language === "ts");
    assert.ok(code !== undefined && more.length === 0);
    const records = join(folder, "program");
    const text = code.text
      .replace("127.0.0.1:8080", `127.0.0.1:${server.ports.http}`)
      .replace('FileRecords("records")', `FileRecords("${records}")`);
    const program = new CliProcess([snippets.add("accept.ts", text)], {});
    assert.deepEqual(await program.exited, { code: 0, signal: null }, program.stderr);
    assert.match(program.stdout, /decision: 'accepted'/);
    const [record, ...others] = await new RecordReader(new FileRecords(records)).list();
    assert.deepEqual([record?.version, record?.checks.length, others.length], [1, 3, 0]);
  });

  test("names every field of a record", () => {
    const table = chapterOf(page, "The record");
    for (const field of Object.keys(recordOf())) assert.ok(table.includes(`\`${field}\``), field);
  });

  test("tells the story of the report as its example tells it", async () => {
    const { scripts, shown } = transcriptsOf("The whole of it");
    const [printed = ""] = await session([`export TMPDIR='${folder}'\n${scripts[0]}`]);
    assert.match(printed, shapeOf(shown[0] ?? ""));
  });
});
