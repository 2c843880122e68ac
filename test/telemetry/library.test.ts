/** `serve()` in a program with an SDK of its own, as docs/observability.md shows it. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CliProcess, ROOT } from "../e2e/server-process.ts";
import { blocksOf, document } from "../readme/markdown.ts";
import { Snippets } from "../readme/snippets.ts";
import { Collector } from "./collector.ts";

const QUICK = "serve({ agent, grpcPort: 0, httpPort: 0, opsPort: 0, drainDelayMs: 0 })";

test("an SDK that was set up before the server gets what it measures", { timeout: 180_000 }, async () => {
  await using collector = await Collector.open();
  using snippets = new Snippets();
  symlinkSync(join(ROOT, "node_modules"), join(snippets.directory, "node_modules"));
  const shown = blocksOf(document("docs/observability.md")).find(({ language }) => language === "ts")?.text ?? "";
  assert.ok(shown.includes("serve({ agent })"));
  snippets.add("agent.ts", `export { default } from ${JSON.stringify(join(ROOT, "test/e2e/agents/ticking.ts"))};\n`);
  const main = snippets.add("main.ts", `${shown.replace("serve({ agent })", QUICK)}\nconsole.log("ready");\n`);
  await snippets.check();
  await using program = new CliProcess([main], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await program.until(({ stdout }) => stdout.includes("ready"));
  program.signal("SIGTERM");
  assert.deepEqual(await program.exited, { code: 0, signal: null });
  assert.ok(collector.of("metrics").some(({ body }) => body.includes("throughline.turns.ended")));
});
