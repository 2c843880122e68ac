/** The documents against what they describe: tables, links, snippets, commands. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { CliProcess, ROOT } from "../e2e/server-process.ts";
import { blocksOf, document, linksOf, sectionOf, shapeOf } from "./markdown.ts";
import { Snippets } from "./snippets.ts";
import { errorRows, optionRows } from "./tables.ts";

const DOCUMENTS = [
  "README.md",
  "CHANGELOG.md",
  "examples/README.md",
  "examples/callers/README.md",
  ...globSync("docs/*.md", { cwd: ROOT }),
];

suite("the documents", { timeout: 120_000 }, () => {
  test("have the options and the errors as they are", () => {
    const text = document("docs/architecture.md");
    assert.equal(sectionOf(text, "options"), optionRows());
    assert.equal(sectionOf(text, "errors"), errorRows());
  });

  test("show transcripts that fit other runs of the same kind, and no others", () => {
    const shown = 'id: 01a229d2-e786-7878-8261-7265d86cacbc/3.d85d2b8f\n…\n{…"time":"2026-11-30T00:19:55.923Z",…96 passed in 1.1 s\n';
    const fits = [
      'id: 00000000-e786-7878-8261-7265d86cacbc/3.00000000\n{"a":1,"time":"2027-01-01T00:00:00Z",} 96 passed in 22.5 s\n',
      'id: 00000000-e786-7878-8261-7265d86cacbc/3.00000000\nmore\n\nmore\n{"time":"2027-01-01T00:00:00.5Z",96 passed in 2.0 s\n\n',
    ];
    for (const text of fits) assert.match(text, shapeOf(shown));
    for (const change of [
      ["/3.", "/4."],
      ["96", "95"],
      ["id", "ID"],
      ["s\n", "s\nmore\n"],
    ] as const) {
      assert.doesNotMatch((fits[0] ?? "").replace(change[0], change[1]), shapeOf(shown));
    }
  });

  test("link to what is there", () => {
    for (const path of DOCUMENTS) {
      for (const link of linksOf(document(path))) {
        const [target = "", anchor] = link.split("#");
        const file = target === "" ? path : join(dirname(path), target);
        assert.ok(existsSync(join(ROOT, file)), `${path}: ${link}`);
        if (anchor === undefined) continue;
        const headings = [...document(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
          heading
            .toLowerCase()
            .replace(/[^\w -]/g, "")
            .replaceAll(" ", "-"),
        );
        assert.ok(headings.includes(anchor), `${path}: ${link}`);
      }
    }
  });

  test("name npm commands that there are", () => {
    const { scripts } = JSON.parse(document("package.json")) as { scripts: Record<string, string> };
    for (const path of DOCUMENTS) {
      for (const [, name = ""] of document(path).matchAll(/npm run (?:-s )?([a-z]+(?:-[a-z]+)*)/g))
        assert.ok(name in scripts, `${path}: npm run ${name}`);
    }
    for (const command of ["npm ci && npm start", "npm ci && npm test"])
      assert.ok(document("README.md").includes(`\n${command}\n`), command);
  });

  test("show code that compiles, and tests that pass", async () => {
    using snippets = new Snippets();
    const tests: string[] = [];
    for (const [path, name] of [
      ["README.md", "readme"],
      ["docs/acceptance.md", "acceptance"],
      ["docs/agents.md", "agents"],
      ["docs/clients.md", "clients"],
      ["docs/front.md", "front"],
      ["docs/redis.md", "redis"],
      ["docs/security.md", "security"],
      ["docs/webhooks.md", "webhooks"],
    ] as const) {
      const blocks = blocksOf(document(path)).filter(({ language }) => language === "ts");
      assert.ok(blocks.length > 0);
      for (const [index, { text }] of blocks.entries()) {
        const file = snippets.add(`${name}-${index}.ts`, text);
        if (text.includes('from "node:test"')) tests.push(file);
      }
    }
    await snippets.check();
    assert.equal(tests.length, 1);
    const run = new CliProcess(["--test", ...tests], {});
    assert.deepEqual(await run.exited, { code: 0, signal: null }, run.stdout);
  });
});
