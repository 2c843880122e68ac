/** `npm test [-- path…]`: runs every test file in a process of its own and ends with one line that counts them. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { ensureChromium } from "./browser/find-chromium.ts";
import { ensureZsh } from "./cli/find-zsh.ts";
import { ensureNginx } from "./nginx.ts";
import { ensureRedisServer } from "./redis/install-redis.ts";

const RUN_MS = 45 * 60_000;

const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync("test/**/*.test.ts").toSorted();
try {
  ensureRedisServer();
  if (files.some((file) => file.includes("test/browser/"))) ensureChromium();
  if (files.some((file) => /test\/(client\/proxy|deploy\/nginx|upgrade\/rollout)\.test\.ts$/.test(file))) ensureNginx();
  if (files.some((file) => file.includes("test/cli/completion"))) ensureZsh();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
let passed = 0;
let failed = 0;
/** What this machine lacks something for. */
const notRun: string[] = [];
const events = run({
  files,
  // Most files wait for timers and other processes half of their time.
  concurrency: availableParallelism() + 1,
  timeout: 300_000,
  execArgv: ["--import", new URL("exit-guard.ts", import.meta.url).href],
});
// Whatever may hang, the run ends and says so.
setTimeout(() => {
  process.stderr.write(`Not done after ${RUN_MS / 60_000} minutes\n`);
  process.exit(1);
}, RUN_MS).unref();
events.on("test:pass", ({ name, details, skip, todo }) => {
  if (typeof skip === "string") notRun.push(`not run: ${name}: ${skip}\n`);
  if (details.type !== "suite" && skip === undefined && todo === undefined) passed += 1;
});
events.on("test:fail", ({ details }) => {
  if (details.type !== "suite") failed += 1;
});
events.compose(new spec()).pipe(process.stdout);
events.once("end", () => {
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
});
process.on("exit", () => process.stdout.write(`\n${notRun.join("")}${passed} passed, ${failed} failed\n`));
