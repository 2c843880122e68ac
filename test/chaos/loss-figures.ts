/** What became of the entries that the servers of a run had and their successors did not have, or do not have in the end. */
import { type Entry, formatPosition } from "../../src/core/log-entry.ts";
import type { Logs } from "./aof.ts";
import type { Loss, Losses } from "./store.ts";

/** How many of each. */
export interface LossFigures {
  /** Planned failovers whose successor was behind, and the entries that it did not have. */
  readonly behind: number;
  readonly missing: number;
  /** Those of them that stand in the log again, in their place. */
  readonly asTheyWere: number;
  /** Of all that servers ever had: entries whose content stands in the log in another place. */
  readonly anew: number;
  /** … that are gone: events, commands. */
  readonly events: number;
  readonly commands: number;
  /** Tasks with something gone; those of them that are gone altogether. */
  readonly tasks: number;
  readonly wholeTasks: number;
}

type LogOf = (taskId: string) => readonly Entry[];

/** Compares what the servers had with what the logs are in the end. */
export function lossFigures({ planned, histories }: Losses, logOf: LogOf): LossFigures {
  const missing = planned.map((loss) => missingIn(loss));
  const all = missing.flat();
  return {
    behind: missing.filter((entries) => entries.length > 0).length,
    missing: all.length,
    asTheyWere: all.filter(({ taskId, entry }) => stands(logOf(taskId), entry)).length,
    ...gone(histories, logOf),
  };
}

function missingIn({ had, kept }: Loss): { readonly taskId: string; readonly entry: Entry }[] {
  return [...had].flatMap(([taskId, entries]) => {
    const known = new Set(kept.get(taskId)?.map(formatPosition));
    return entries.filter((entry) => !known.has(formatPosition(entry))).map((entry) => ({ taskId, entry }));
  });
}

function gone(histories: readonly Logs[], logOf: LogOf): Omit<LossFigures, "behind" | "missing" | "asTheyWere"> {
  const counts = { anew: 0, event: 0, command: 0 };
  const [tasks, wholeTasks] = [new Set<string>(), new Set<string>()];
  for (const taskId of new Set(histories.flatMap((logs) => [...logs.keys()]))) {
    const log = logOf(taskId);
    const had = new Map(histories.flatMap((logs) => logs.get(taskId) ?? []).map((entry) => [formatPosition(entry), entry]));
    const lost = [...had.values()].filter((entry) => !stands(log, entry));
    if (lost.length === 0) continue;
    const stand = countsOf(log);
    const needed = histories.map((logs) => countsOf(logs.get(taskId) ?? []));
    let whole = true;
    for (const content of new Set(lost.map(contentOf))) {
      // One history may say the same thing twice.
      const need = Math.max(...needed.map((counted) => counted.get(content) ?? 0));
      const missing = need - (stand.get(content) ?? 0);
      if (missing <= 0) counts.anew += 1;
      else counts[content.startsWith("event") ? "event" : "command"] += missing;
      whole &&= missing <= 0;
    }
    if (!whole) tasks.add(taskId);
    if (log.length === 0) wholeTasks.add(taskId);
  }
  return { anew: counts.anew, events: counts.event, commands: counts.command, tasks: tasks.size, wholeTasks: wholeTasks.size };
}

function stands(log: readonly Entry[], { offset, mark }: Entry): boolean {
  return log[offset - 1]?.mark === mark;
}

/** How often each content occurs. */
function countsOf(entries: readonly Entry[]): Map<string, number> {
  const counted = new Map<string, number>();
  for (const entry of entries) counted.set(contentOf(entry), (counted.get(contentOf(entry)) ?? 0) + 1);
  return counted;
}

function contentOf({ kind, bytes }: Entry): string {
  return `${kind} ${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")}`;
}
