/**
 * `npm run soak -- [--minutes 60] [--callers 24]`: two replicas on one Redis under a mixed load, with tasks that are kept for seconds only. Prints
 * what replicas and Redis hold, a line a minute, and whether it stays flat; exit code 1 where it does not, a call fails, or something is left.
 */
import { setTimeout as delay } from "node:timers/promises";
import { countFlags } from "../count-flags.ts";
import { ReplicaProcess } from "../e2e/replica-process.ts";
import { ensureRedisServer } from "../redis/install-redis.ts";
import { redisServer } from "../redis/redis-server.ts";
import { measure, type Sample } from "./figures.ts";
import { Hooks } from "./hooks.ts";
import { Load } from "./load.ts";
import { courses, risen, RULE } from "./verdict.ts";

/** What is over goes soon: sweeps have as much to remove as there is begun. */
const KEPT_MS = 5000;
const SERVE = {
  "lease-ms": 3000,
  "renew-ms": 1000,
  "sweep-ms": 500,
  "retention-ms": KEPT_MS,
  "interrupted-retention-ms": KEPT_MS,
  "dedupe-window-ms": KEPT_MS,
  // Caches are full after warm-up.
  "cache-bytes": 4 * 1024 * 1024,
  "push-enabled": "true",
  "push-allow": "127.0.0.0/8",
} as const;
/** Share of the time until everything has been reached once; at least twice as long as tasks are kept. */
const WARM_UP = 0.3;
/** Share of what may be overtaken by the end of its task, where the machine is busy. */
const OVERTAKEN = 0.02;
const SAMPLES = 40;
const LEAST_SAMPLE_MS = 400;
/** Within which all that was begun is to be gone. */
const GONE_MS = 60_000;

const { minutes, callers } = countFlags({ minutes: 60, callers: 24 }, "usage: npm run soak -- [--minutes 60] [--callers 24]\n");

const began = performance.now();
const say = (text: string): void =>
  void process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}\n`);

// Not left to the event loop: whatever a caller has left open must not keep it.
process.exit((await soak()) ? 0 : 1);

async function soak(): Promise<boolean> {
  ensureRedisServer();
  await using redis = await redisServer();
  await using hooks = await Hooks.open();
  const start = (name: string): Promise<ReplicaProcess> => ReplicaProcess.start(redis.url, name, SERVE, { agent: "test/soak/agent.ts" });
  await using a = await start("a");
  await using b = await start("b");
  const idle = Number(await redis.call("DBSIZE"));
  const load = new Load([a, b], hooks, { callers, keptMs: KEPT_MS });
  const durationMs = minutes * 60_000;
  const everyMs = Math.max(LEAST_SAMPLE_MS, Math.min(60_000, durationMs / SAMPLES));
  const samples: Sample[] = [];
  const from = performance.now();
  let told = -Infinity;
  while (performance.now() - from < durationMs) {
    await delay(everyMs);
    const sample = await measure(redis, { a, b });
    if (performance.now() - from >= Math.max(durationMs * WARM_UP, 2 * KEPT_MS)) samples.push(sample);
    if (performance.now() - told < Math.min(60_000, durationMs / 8)) continue;
    told = performance.now();
    say(line(sample));
  }
  await load.stop();
  say(
    `done: ${Object.entries(load.done)
      .map(([what, count]) => `${count} × ${what}`)
      .join(", ")}`,
  );
  const finished = Object.values(load.done).reduce((sum, count) => sum + count, 0);
  say(`${load.overtaken} took longer than tasks are kept, and failed`);
  const wrong = [...load.wrong, ...(load.overtaken > finished * OVERTAKEN ? [`${load.overtaken} calls of ${finished} took too long`] : [])];
  const left = await leftAfter(async () => Number(await redis.call("DBSIZE")) - idle);
  return judge(samples, wrong, left);
}

/** How many keys are still there when all tasks should have gone. */
async function leftAfter(count: () => Promise<number>): Promise<number> {
  const until = performance.now() + GONE_MS;
  for (;;) {
    const left = await count();
    if (left <= 0 || performance.now() > until) return left;
    await delay(200);
  }
}

function judge(samples: readonly Sample[], wrong: readonly string[], left: number): boolean {
  const all = courses(samples);
  const bad = risen(all);
  process.stdout.write(`\n${RULE}; ${samples.length} samples\n`);
  for (const course of all) {
    const { name, early, late, most } = course;
    const [from, to, limit] = [early, late, most].map((value) => value.toFixed(1).padStart(9));
    process.stdout.write(`${name.padEnd(18)} ${from} ${to}   at most ${limit}  ${bad.includes(course) ? "RISES" : "flat"}\n`);
  }
  for (const what of wrong) process.stdout.write(`failed: ${what}\n`);
  process.stdout.write(`${left} keys left after all tasks\n`);
  const ok = bad.length === 0 && wrong.length === 0 && left <= 0;
  process.stdout.write(ok ? "flat\n" : "NOT FLAT\n");
  return ok;
}

function line(sample: Sample): string {
  return Object.entries(sample)
    .map(([name, value]) => `${name} ${name.endsWith("MB") ? value.toFixed(1) : value}`)
    .join(", ");
}
