/** How rules and tests are brought together. Numbers are put together here, so that these titles are not taken for proofs. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { checkTitles, conformancePage } from "../../scripts/conformance/page.ts";
import { checkRules, readRules, type Rule } from "../../scripts/conformance/rules.ts";
import { findTitles, type Title } from "../../scripts/conformance/titles.ts";

const id = (number: number): string => `R-00${number}`;
const rule = (number: number, more: Partial<Rule> = {}): Rule => ({
  id: id(number),
  who: "server",
  summary: `says ${number}`,
  untested: "",
  ours: "",
  ...more,
});
const title = (...numbers: number[]): Title => ({ file: "test/a.test.ts", suite: "s", ids: numbers.map(id), text: "holds" });

suite("titles", () => {
  test("are found in tests, suites, tables and helpers, below their suite, with what is filled in left out", () => {
    const root = mkdtempSync(join(tmpdir(), "throughline-titles-"));
    const source = [
      `test("${id(1)} at the top", () => {});`,
      `suite("a suite of \${kind}", () => {`,
      `  everywhere("${id(2)} ${id(3)} in it", bed, async () => {});`,
      `  for (const name of ["${id(4)} by a table", "no number"]) test(name, () => {});`,
      `  suite(\`${id(5)} inner\`, () => {`,
      `    onEachStore(`,
      `      \`${id(6)} filled with \${"x"} and "quoted"\`,`,
      `      async () => {});`,
      `  });`,
      `});`,
      `test("${id(7)}: no title", () => {}); // nor ${id(8)} in a comment`,
    ];
    try {
      mkdirSync(join(root, "test"));
      writeFileSync(join(root, "test", "a.test.ts"), source.join("\n"));
      assert.deepEqual(
        findTitles(root).map(({ suite: around, ids, text }) => [around, ids.join(" "), text]),
        [
          ["", id(1), "at the top"],
          ["a suite of …", `${id(2)} ${id(3)}`, "in it"],
          ["a suite of …", id(4), "by a table"],
          ["a suite of …", id(5), "inner"],
          ["inner", id(6), 'filled with … and "quoted"'],
        ],
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

suite("rules and titles", () => {
  test("fit together where each rule has a test or a reason", () => {
    const rules = [rule(1), rule(2, { untested: "later" }), rule(3, { who: "client", summary: "" })];
    assert.deepEqual(checkTitles(rules, [title(1)]), []);
  });

  test("do not where a number is missing, unknown, somebody else's, or has a reason that is none any more", () => {
    const rules = [rule(1), rule(2, { untested: "later" }), rule(3, { who: "client", summary: "" })];
    const wrong = checkTitles(rules, [title(2, 3, 9)]).join("\n");
    for (const [number, what] of [
      [1, /has no test, and no reason/],
      [2, /has a test now/],
      [3, /which is the client's/],
      [9, /which there is not/],
    ] as const) {
      assert.match(wrong, new RegExp(id(number)));
      assert.match(wrong, what);
    }
  });

  test("make a page with a row per rule", () => {
    const sections = [
      { heading: "One", rules: [rule(1, { summary: "a | b" }), rule(2, { untested: "later" }), rule(3, { who: "client" })] },
    ];
    const page = conformancePage(sections, [title(1)]);
    for (const line of [
      `| ${id(1)} | a \\| b | [a](../test/a.test.ts): s › holds |`,
      `| ${id(2)} | says 2 | *later* |`,
      `Not a server's: ${id(3)}.`,
    ])
      assert.ok(page.includes(`${line}\n`), line);
  });
});

suite("the list of rules", () => {
  const rules = readRules().flatMap((section) => section.rules);

  test("is whole", () => {
    assert.deepEqual(checkRules(rules), []);
  });

  test("is not where a rule is missing, twice, nobody's, not summed up, or a contradiction without a choice", () => {
    const [first, second, ...rest] = rules as [Rule, Rule, ...Rule[]];
    const wrong = checkRules([{ ...first, who: "nobody" as never, summary: "" }, { ...first }, ...rest, rule(1, { id: "C-99" })]).join(
      "\n",
    );
    for (const what of [
      `${second.id} is missing`,
      `${first.id} stands in rules.tsv twice`,
      "is nobody",
      "is not summed up",
      "does not say what is done",
    ])
      assert.ok(wrong.includes(what), what);
  });
});
