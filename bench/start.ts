/** How long a server takes from nothing to ready, and what it then holds. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../test/redis/free-port.ts";
import { redisServer } from "../test/redis/redis-server.ts";
import { judge, type Verdict } from "./judge.ts";
import { startServer } from "./processes.ts";
import type { Program } from "./programs.ts";
import type { Aim } from "./rows/row.ts";
import { median } from "./quantile.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const STARTS = 3;
const PROBE_EVERY_MS = 2;
const READY_MS = 30_000;
/** After which what only the start needed is collected or never is. */
const SETTLE_MS = 2_000;
const run = promisify(execFile);

const AGENT = `export default {
  card: { name: "idle", description: "Does nothing", version: "1.0.0" },
  async *run() {},
};
`;

interface StartMetric {
  readonly key: "ready" | "memory";
  readonly title: string;
  readonly unit: string;
  readonly aim: Aim;
}

export const START: { readonly name: string; readonly metrics: readonly StartMetric[] } = {
  name: "start",
  metrics: [
    { key: "ready", title: "start to ready, with Redis up", unit: "ms", aim: { kind: "at-most", value: 1_000 } },
    { key: "memory", title: "memory of an idle server (RSS)", unit: "MB", aim: { kind: "at-most", value: 120 } },
  ],
};

/** One start. */
type Started = Readonly<Record<StartMetric["key"], number>>;

/** `throughline serve`, as it is installed, beside the servers of the others, as they are run here. */
export async function measureStart(others: readonly Program[], rounds: number, quick: boolean): Promise<Verdict[]> {
  using folder = await built();
  await using redis = await redisServer();
  const sides = [() => startOurs(folder.path, redis.url), ...others.map((program) => () => startOther(program))];
  const starts: Started[][] = sides.map(() => []);
  // The first one reads all files from disk.
  await Promise.all(sides.slice(0, 1).map((side) => side()));
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of sides.entries()) {
      process.stderr.write(`start, ${others[index - 1]?.name ?? "ours"} ${round + 1}/${rounds}\n`);
      const many: Started[] = [];
      for (let count = 0; count < (quick ? 1 : STARTS); count++) many.push(await side());
      starts[index]?.push({ ready: median(many.map(({ ready }) => ready)), memory: median(many.map(({ memory }) => memory)) });
    }
  }
  return START.metrics.flatMap(({ key, ...metric }) => {
    const [ours = [], ...baselines] = starts.map((side) => side.map((started) => ({ value: started[key] })));
    const row = { row: START.name, key, binding: "", ...metric };
    return others.map(({ name }, index) => judge({ ...row, beside: name }, { ours, baseline: baselines[index] ?? [] }, quick));
  });
}

interface Folder extends Disposable {
  readonly path: string;
}

/** The package as it is published, with the packages that are installed here. */
async function built(): Promise<Folder> {
  const path = mkdtempSync(join(tmpdir(), "bench-start-"));
  const dispose = (): void => rmSync(path, { recursive: true });
  try {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    await run(tsc, ["-p", "tsconfig.build.json", "--outDir", join(path, "dist")], { cwd: ROOT });
    cpSync(join(ROOT, "src/storage/redis/scripts"), join(path, "dist/src/storage/redis/scripts"), { recursive: true });
    cpSync(join(ROOT, "gen/a2a.binpb"), join(path, "dist/gen/a2a.binpb"));
    for (const name of ["bin", "package.json"]) cpSync(join(ROOT, name), join(path, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(path, "node_modules"));
    writeFileSync(join(path, "agent.mjs"), AGENT);
    return { path, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Ready is what the probe says that Kubernetes asks. */
async function startOurs(folder: string, redisUrl: string): Promise<Started> {
  const ops = await freePort();
  const ports = ["--grpc-port", "0", "--http-port", "0", "--ops-port", `${ops}`, "--drain-delay-ms", "0"];
  const begun = performance.now();
  const child = spawn(process.execPath, ["bin/throughline.js", "serve", "agent.mjs", "--redis-url", redisUrl, ...ports], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  const exited = once(child, "exit");
  try {
    while (!(await isReady(ops))) {
      if (child.exitCode !== null || performance.now() - begun > READY_MS) throw new Error(`throughline serve: ${complaints}`);
      await sleep(PROBE_EVERY_MS);
    }
    const ready = performance.now() - begun;
    await sleep(SETTLE_MS);
    return { ready, memory: residentOf(child) / 1e6 };
  } finally {
    child.kill();
    await exited;
  }
}

async function isReady(ops: number): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${ops}/readyz`);
    return ok;
  } catch {
    return false;
  }
}

async function startOther(program: Program): Promise<Started> {
  const begun = performance.now();
  await using server = await startServer(program);
  const ready = performance.now() - begun;
  await sleep(SETTLE_MS);
  const { rss } = await server.stats(false);
  return { ready, memory: rss / 1e6 };
}

/** As procfs tells it, without asking the process. */
function residentOf({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}
