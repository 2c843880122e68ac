/** Promise 7: every webhook acknowledged positions in order, with no hole, and those that ever answer have the end. */
import type { Entry } from "../../src/core/log-entry.ts";
import { type Notified, progressOf } from "../webhooks/acknowledgements.ts";
import type { Finding } from "./finding.ts";

/** A webhook at the end of a run. */
export interface HookEnd {
  readonly id: string;
  readonly taskId: string;
  readonly manner: string;
  readonly answers: boolean;
  readonly registeredAt: number | undefined;
  readonly requests: readonly (Notified & { readonly at: number })[];
}

/** Offset after which a webhook is told: it may have been registered before that was answered, never later. */
function beginOf({ registeredAt, requests }: HookEnd, entries: readonly Entry[]): number {
  if (registeredAt === undefined) return 0;
  const late = entries.findLast(({ time }) => time <= registeredAt)?.offset ?? 0;
  const first = Number(/\/(\d+)\./.exec(requests[0]?.id ?? "")?.[1] ?? Infinity);
  const before = entries.findLast(({ kind, offset }) => kind === "event" && offset < first)?.offset ?? 0;
  return Math.min(late, before);
}

/** Checks one against the log of its task. */
export function checkWebhook(hook: HookEnd, entries: readonly Entry[]): Finding[] {
  const { taskId, id, manner, answers, requests } = hook;
  const begin = beginOf(hook, entries);
  const { acknowledged, wrong } = progressOf(requests, entries, begin);
  const name = `7: webhook ${id} (${manner})`;
  const found = wrong.map((what): Finding => ({
    kind: what.includes("not in the log") ? "broken" : "lost",
    taskId,
    what: `${name}: ${what}`,
  }));
  const rest = entries.filter(({ kind, offset }) => kind === "event" && offset > Math.max(acknowledged, begin));
  if (answers && rest.length > 0)
    found.push({ kind: "lost", taskId, what: `${name} acknowledged ${acknowledged}, and ${rest.length} events came after it` });
  return found;
}

/** Whether it has acknowledged all that there is. */
export function hasAllOf(hook: HookEnd, entries: readonly Entry[]): boolean {
  return checkWebhook({ ...hook, answers: true }, entries).length === 0;
}
