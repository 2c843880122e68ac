/** How long events took from being stored to being seen, and connections on which some never came. */
import type { Entry } from "../../src/core/log-entry.ts";
import type { Finding } from "./finding.ts";
import type { Followed } from "./follower.ts";

/** A connection that carries nothing for this long although there is something to carry hangs: longer than any fault, and than the store's own backstop. */
export const HANG_MS = 25_000;

/** What a run's readers waited. */
export interface Latency {
  /** Milliseconds between store and reader, sorted. */
  readonly delivered: readonly number[];
  readonly hangs: readonly Finding[];
}

/** Measures all visits of all followers. */
export function measure(followers: readonly Followed[], logOf: (taskId: string) => readonly Entry[]): Latency {
  const delivered: number[] = [];
  const hangs: Finding[] = [];
  for (const { taskId, frames, visits } of followers) {
    const entries = logOf(taskId);
    const reached = visits.map(({ from }) => from?.offset ?? Infinity);
    for (const { position, response, visit, at } of frames) {
      const entry = entries[position.offset - 1];
      reached[visit] = position.offset;
      if (response.payload.case === "task" || entry === undefined) continue;
      if (entry.time > (visits[visit]?.opened ?? 0)) delivered.push(Math.max(0, at - entry.time));
    }
    for (const [index, { from, opened, closed, replica, binding }] of visits.entries()) {
      if (from === undefined && reached[index] === Infinity && closed - opened > HANG_MS) {
        hangs.push({ kind: "broken", taskId, what: `${binding} stream on ${replica} had no first frame for ${closed - opened} ms` });
      }
      const next = entries.find(({ offset, kind }) => offset > (reached[index] ?? Infinity) && kind === "event");
      if (next === undefined || next.time < opened || closed - next.time < HANG_MS) continue;
      const what = `${binding} stream on ${replica} did not carry ${next.offset}.${next.mark} for ${closed - next.time} ms`;
      hangs.push({ kind: "broken", taskId, what });
    }
  }
  return { delivered: delivered.toSorted((a, b) => a - b), hangs };
}

/** The value below which this share lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
