/** docs/performance.md says what was measured, and how a figure is shown there. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { judge } from "../../bench/judge.ts";
import { performanceTable, withTable } from "../../bench/page.ts";
import { merge, readResults, type Result, type Results } from "../../bench/results.ts";
import { ROWS } from "../../bench/rows/index.ts";
import type { Aim } from "../../bench/rows/row.ts";

const PAGE = readFileSync(fileURLToPath(new URL("../../docs/performance.md", import.meta.url)), "utf8");

interface Measured {
  readonly key?: string;
  readonly unit?: string;
  readonly beside: string;
  readonly aim?: Aim;
  readonly failed?: boolean;
  readonly ours: readonly number[];
  readonly baseline: readonly number[];
}

function result({ key = "many", unit = "sends/s", beside, aim, failed, ours, baseline }: Measured): Result {
  const judged = { row: "short-sends", key, binding: "grpc", beside, title: "short sends", unit, aim, ...(failed && { failed }) };
  const samples = { ours: ours.map((value) => ({ value })), baseline: baseline.map((value) => ({ value })) };
  return { ...judge(judged, samples, false), store: "memory", at: "2026-11-30", rounds: ours.length, load: 0 };
}

const results = (...list: readonly Result[]): Results => ({ host: { cores: 2, node: "v24.0.0" }, results: list });

suite("docs/performance.md", () => {
  test("has the table of bench/results.json", () => {
    assert.ok(PAGE.includes(`<!-- bench -->\n${performanceTable(readResults())}\n<!-- /bench -->`), "npm run bench writes it");
  });

  test("names the versions of the SDKs that are measured", () => {
    const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
    const js = (JSON.parse(read("package.json")) as { devDependencies: Record<string, string> }).devDependencies["@a2a-js/sdk"];
    const go = /a2a-go\/v2 v(\S+)/.exec(read("test/interop/go/go.mod"))?.[1];
    const python = /^a2a-sdk==(\S+)/m.exec(read("test/interop/python/requirements.txt"))?.[1];
    for (const version of [`\`@a2a-js/sdk\` ${js}`, `a2a-go ${go}`, `a2a-sdk ${python}`]) assert.ok(PAGE.includes(version), version);
  });

  test("explains every row", () => {
    const named = new Set(
      [...PAGE.slice(PAGE.indexOf("## What the rows are")).matchAll(/^\| ([\w-]+(?:, [\w-]+)*) \|/gmu)].flatMap(([, names = ""]) =>
        names.split(", "),
      ),
    );
    for (const { name } of ROWS) assert.ok(named.has(name), name);
  });

  test("without the marks is refused", () => {
    assert.throws(() => withTable("# Performance\n", results()), /the page has no <!-- bench -->/);
  });
});

suite("the table of performance", () => {
  test("has one line for a figure, whatever it is beside, and says how many times better ours is", () => {
    const js = result({ beside: "js", ours: [100, 300, 200], baseline: [50, 100, 100] });
    const bare = result({ beside: "bare", ours: [100, 300, 200], baseline: [400, 600, 400] });
    const table = performanceTable(results(js, bare));
    assert.match(
      table,
      /^\| short-sends \| short sends \| gRPC \| sends\/s \| 200 \| 100 \(2\.00x\) \| – \| – \| 400 \(\*\*0\.50x\*\*\) \|/m,
    );
  });

  test("counts less as better where the unit is no rate", () => {
    const python = result({ beside: "python", unit: "ms", ours: [2], baseline: [5] });
    assert.match(performanceTable(results(python)), /\| ms \| 2\.00 \| – \| – \| 5\.00 \(2\.50x\) \|/);
  });

  test("says which aims were missed, and what a baseline could not do", () => {
    const js = result({ beside: "js", aim: { kind: "ratio-at-least", value: 2 }, ours: [100], baseline: [80] });
    const go = result({ beside: "go", failed: true, ours: [100], baseline: [] });
    assert.match(performanceTable(results(js, go)), /\| 80\.0 \(1\.25x\) \| fails \| – \| – \| \*\*missed: >= 2x js\*\* \|/);
  });

  test("has a figure that was measured again once, and keeps the others", () => {
    const old = results(result({ beside: "js", ours: [1], baseline: [1] }), result({ key: "one", beside: "js", ours: [1], baseline: [1] }));
    const merged = merge(old, results(result({ beside: "js", ours: [2], baseline: [1] })));
    assert.deepEqual(
      merged.results.map(({ key, ratio }) => [key, ratio]),
      [
        ["one", 1],
        ["many", 2],
      ],
    );
  });
});
