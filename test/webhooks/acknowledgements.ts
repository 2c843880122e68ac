/** P-7: what a webhook acknowledged, in order and with no hole, against the log of its task. */
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, samePosition } from "../../src/core/log-entry.ts";

/** One request, as a receiver had it. */
export interface Notified {
  /** `<task id>/<offset>.<mark>`. */
  readonly id: string;
  readonly event: StreamResponse;
  /** What it was answered with; undefined where it had no answer. */
  readonly status: number | undefined;
}

/** How far a webhook came, and what is wrong with how it did. */
export interface Progress {
  /** Offset of the last event that it acknowledged; 0 for none. */
  readonly acknowledged: number;
  /** Requests with an event that had been acknowledged already. */
  readonly repeats: number;
  readonly wrong: readonly string[];
}

/**
 * Goes through the requests of one webhook, in the order of their arrival, that began after offset `from`. An event may come again; none may come
 * before the one before it is acknowledged. A `task` in mid-stream stands for what was lost or given up, up to its position.
 */
export function progressOf(requests: readonly Notified[], entries: readonly Entry[], from = 0): Progress {
  const events = entries.filter(({ kind }) => kind === "event");
  const wrong: string[] = [];
  let [acknowledged, repeats] = [from, 0];
  for (const { id, event, status } of requests) {
    const [, offset = "", mark = ""] = /\/(\d+)\.(\w*)$/.exec(id) ?? [];
    const position = { offset: Number(offset), mark };
    const isTask = event.payload.case === "task" && position.offset > 1;
    const next = events.find((entry) => entry.offset > acknowledged);
    if (!isTask && !entries.some((entry) => samePosition(entry, position))) wrong.push(`${id} is not in the log`);
    if (position.offset <= acknowledged) repeats += 1;
    else if (!isTask && position.offset !== next?.offset)
      wrong.push(`${id} came although ${next?.offset} was to come after ${acknowledged}`);
    if (status !== undefined && status >= 200 && status < 300) acknowledged = Math.max(acknowledged, position.offset);
  }
  return { acknowledged, repeats, wrong };
}

/** Offset of the last event of a log. */
export function endOf(entries: readonly Entry[]): number {
  return entries.findLast(({ kind }) => kind === "event")?.offset ?? 0;
}
