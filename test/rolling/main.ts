/**
 * `npm run rolling -- [--replicas 4] [--streams 2000] [--turns 200] [--tick 1000]`: a rolling restart behind nginx under load. Ends with what
 * its callers noticed; exit code 1 where a task or an event was lost, one came twice, a call failed, or a client was away for over two seconds.
 */
import { resolveOptions } from "../../src/server/options.ts";
import { countFlags } from "../count-flags.ts";
import { ensureNginx } from "../nginx.ts";
import { ensureRedisServer } from "../redis/install-redis.ts";
import { type Restarted, rollingRestart } from "./restart.ts";

/** Within which a client is to be back. */
const BACK_MS = 2000;

const USAGE = "usage: npm run rolling -- [--replicas 4] [--streams 2000] [--turns 200] [--tick 1000 (ms between two events of a task)]\n";
const { replicas, streams, turns, tick: tickMs } = countFlags({ replicas: 4, streams: 2000, turns: 200, tick: 1000 }, USAGE);

ensureRedisServer();
ensureNginx();
const began = performance.now();
const { drainDelayMs, streamGraceMs, drainMs } = resolveOptions({});
const serve = { "drain-delay-ms": drainDelayMs, "stream-grace-ms": streamGraceMs, "drain-ms": drainMs };
const result = await rollingRestart({ replicas, streams, turns, tickMs, serve, connections: 8 * streams + 1000 }, (what) => {
  process.stdout.write(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${what}\n`);
});
process.stdout.write(report(result));
process.exitCode = kept(result) ? 0 : 1;

function report({ took, seen, called, tasksLost, streamsShort }: Restarted): string {
  const away = seen.away.toSorted((a, b) => a - b);
  const at = (share: number): string => `${Math.round(away[Math.min(away.length - 1, Math.floor(away.length * share))] ?? 0)} ms`;
  const late = away.filter((ms) => ms > BACK_MS).length;
  const lines = [
    `a replica gone and back       ${took.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(", ")}`,
    `tasks lost                    ${tasksLost} of ${turns}`,
    `events lost, doubled          ${seen.lost}, ${seen.doubled} of ${seen.events} on ${streams} streams (${streamsShort} ended short)`,
    `cut and back                  ${away.length} times: p50 ${at(0.5)}, p99 ${at(0.99)}, latest ${at(1)}; ${late} after more than ${BACK_MS} ms`,
    `calls by plain clients        ${called.calls}, ${called.repeated} of them repeated once, ${called.failed.length} failed`,
  ];
  return `${[...lines, ...called.failed.slice(0, 10).map((why) => `  ${why}`)].join("\n")}\n`;
}

function kept({ seen, called, tasksLost, streamsShort }: Restarted): boolean {
  const harm = tasksLost + seen.lost + seen.doubled + streamsShort + called.failed.length;
  return harm === 0 && seen.away.every((ms) => ms <= BACK_MS);
}
