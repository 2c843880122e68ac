/** The dashboard, the alert rules and the documents name the metrics that a server tells, and no others. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import { parse } from "yaml";
import { CALL_METERS } from "../../src/server/telemetry/call-metrics.ts";
import { type MeterFacts, METERS } from "../../src/server/telemetry/meters-list.ts";
import { failureOf, openBed, send, startTask, taskOf } from "../bindings/bed.ts";
import { ROOT } from "../e2e/server-process.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { until } from "../redis/until.ts";
import { parseQuery } from "./queries.ts";
import { type Sample, scrapeOfThisProcess, sumOf } from "./scraped.ts";

const WITHIN_MS = 60_000;
/** What a scrape adds. */
const SCRAPED: ReadonlySet<string> = new Set(["job", "instance"]);
const ALL: readonly MeterFacts[] = [...Object.values(METERS), ...Object.values(CALL_METERS)];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const rules = (parse(text("deploy/observability/alerts.yaml")) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(text("deploy/observability/dashboard.json")) as { panels: Panel[] };
const targets = panels.flatMap((panel) => panel.targets ?? []);

/** A name or label of OpenTelemetry, as Prometheus has it. */
const inPrometheus = (name: string): string => name.replaceAll(".", "_");

/** The names under which a scraper finds a metric. */
function namesOf({ kind, name }: MeterFacts): string[] {
  const base = inPrometheus(name);
  if (kind === "histogram") return ["bucket", "count", "sum"].map((part) => `${base}_${part}`);
  return [kind === "counter" ? `${base}_total` : base];
}

/** Every metric as a row of a table. */
function meterRows(meters: readonly MeterFacts[]): string {
  const rows = meters.map(({ kind, name, unit, labels = {}, description }) => {
    const shown = Object.entries(labels).map(([label, values]) => {
      const few = values.length <= 8 ? `: ${values.join(", ")}` : "";
      return `\`${label}\`${few}`;
    });
    const type = { observed: "gauge", running: "up-down counter" }[kind as string] ?? kind;
    return `| \`${name}\` | ${type} | ${unit} | ${shown.join("; ") || "none"} | ${description} |\n`;
  });
  return `| metric | kind | unit | labels | meaning |\n| --- | --- | --- | --- | --- |\n${rows.join("")}`;
}

suite("files about metrics", { timeout: 180_000 }, () => {
  let samples: readonly Sample[];
  before(async () => {
    const scrape = await scrapeOfThisProcess();
    await using bed = await openBed({ redis: await fileRedis(), sweepMs: 20 });
    // Calls that are answered and refused, streams of every binding that go on with a task, and an event for a reader that waits.
    await until("a reader that waited", WITHIN_MS, async () => {
      const gate = bed.agent.gate();
      const id = await startTask(bed.grpc, `silent ${gate.name}`, { configuration: { returnImmediately: true } });
      const streams = bed.callers.map((caller) => caller.stream("SubscribeToTask", { id }));
      for (const stream of streams) await stream.next();
      gate.open();
      for (const stream of streams) for await (const _ of stream);
      return sumOf(await scrape(), "throughline_log_delivery_lag_count") > 0;
    });
    await until("a sweep", WITHIN_MS, async () => (await scrape()).some(({ name }) => name === "throughline_turns_waiting"));
    const { id } = taskOf(await bed.grpc.unary("SendMessage", send("complete")));
    await bed.grpc.unary("GetTask", { id });
    await failureOf(bed.grpc.unary("GetTask", { id: "none" }));
    samples = await scrape();
  });

  test("a server tells every metric that is listed, with labels that are listed, and no other", () => {
    const known = new Map(ALL.flatMap((meter) => namesOf(meter).map((name) => [name, meter] as const)));
    const told = new Set(samples.map(({ name }) => name));
    told.delete("target_info");
    assert.deepEqual([...told].toSorted(), [...known.keys()].toSorted());
    for (const { name, labels } of samples) {
      const listed = Object.entries(known.get(name)?.labels ?? {}).map(([label, values]) => [inPrometheus(label), values] as const);
      for (const [label, value] of Object.entries(labels)) {
        if (label === "le" || name === "target_info") continue;
        assert.ok(
          listed.some(([each, values]) => each === label && values.includes(value)),
          `${name}{${label}="${value}"}`,
        );
      }
    }
  });

  test("every query of the dashboard and of the rules asks for metrics and labels that a server tells", () => {
    for (const expr of [...targets, ...rules].map((one) => one.expr)) {
      const { selected, grouped } = parseQuery(expr);
      assert.ok(selected.length > 0, expr);
      for (const { name, matchers } of selected) {
        const told = samples.filter((sample) => sample.name === name);
        assert.ok(told.length > 0, `${name} in ${expr}`);
        for (const { label, operator, value } of matchers) {
          if (SCRAPED.has(label)) continue;
          const values = told.map(({ labels }) => labels[label]);
          if (operator === "=") assert.ok(values.includes(value), `${name}{${label}="${value}"}`);
          else
            assert.ok(
              values.some((each) => each !== undefined),
              `${name}{${label}}`,
            );
          const listed = ALL.find((meter) => namesOf(meter).includes(name))?.labels ?? {};
          const possible = Object.entries(listed).find(([each]) => inPrometheus(each) === label)?.[1] ?? [];
          if (operator === "=~") for (const each of value.split("|")) assert.ok(possible.includes(each), `${label}: ${each}`);
        }
        for (const label of grouped)
          assert.ok(SCRAPED.has(label) || told.some(({ labels }) => label in labels), `${label} of ${name} in ${expr}`);
      }
    }
    for (const { expr, legendFormat } of targets)
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(parseQuery(expr).grouped.includes(label), legendFormat);
  });

  test("the dashboard shows every metric", () => {
    const shown = new Set(targets.flatMap(({ expr }) => parseQuery(expr).selected.map(({ name }) => name)));
    for (const meter of ALL)
      assert.ok(
        namesOf(meter).some((name) => shown.has(name)),
        meter.name,
      );
  });

  test("the rules of Prometheus and those for its operator are the same, and say how bad it is", () => {
    const file = parse(text("deploy/observability/alerts.yaml")) as { groups: unknown };
    const object = parse(text("deploy/kustomize/components/monitoring/prometheus-rule.yaml")) as { spec: unknown };
    assert.deepEqual(object.spec, file);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, labels, annotations } of rules) {
      assert.ok(["critical", "warning", "info"].includes(labels.severity), alert);
      assert.match(annotations.summary, /\.$/);
    }
  });

  test("docs/observability.md has every metric with its unit, labels and meaning", () => {
    const page = text("docs/observability.md");
    for (const table of [meterRows(Object.values(CALL_METERS)), meterRows(Object.values(METERS))]) assert.ok(page.includes(table), table);
  });

  test("docs/operations.md has a runbook for every alert, and for no other", () => {
    const [, runbook = ""] = text("docs/operations.md").split("\n## Alerts\n");
    const [section = ""] = runbook.split("\n## ");
    const headings = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    assert.equal(headings.length, rules.length);
    assert.deepEqual(new Set(headings), new Set(rules.map(({ alert }) => alert)));
    for (const part of section.split(/^### /m).slice(1))
      for (const what of ["Means", "Look", "Do"]) assert.match(part, new RegExp(`^\\*\\*${what}\\.\\*\\* `, "m"), part);
  });
});
