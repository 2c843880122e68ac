/** Checks a whole run: every log, every follower, every acknowledgement, and the promises of DESIGN 8 once more by the library's own check. */
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import { isAtRest, stateOf } from "../../src/core/task.ts";
import { checkPromises, type FollowerRecord } from "../../src/testing/promises.ts";
import type { Logs } from "./aof.ts";
import { checkFollower } from "./check-follower.ts";
import { checkLog, messageIn } from "./check-log.ts";
import { checkRewound } from "./check-rewound.ts";
import type { Finding } from "./finding.ts";
import type { Followed, SeenFrame } from "./follower.ts";
import type { LedgerTask, Odd } from "./ledger.ts";
import { checkTrimmed } from "./check-trimmed.ts";
import { checkWebhook, type HookEnd } from "./check-webhooks.ts";
import { type LossFigures, lossFigures } from "./loss-figures.ts";
import type { Custody, Losses } from "./store.ts";

/** A task at the end of the run. */
export interface TaskEnd {
  readonly taskId: string;
  readonly entries: readonly Entry[];
  /** What is left of that, where logs are trimmed. */
  readonly kept?: readonly Entry[];
  /** What GetTask answers; undefined where it says that there is none. */
  readonly task: Task | undefined;
  readonly custody: Custody;
  /** Ids of the messages that turns were given. */
  readonly given: ReadonlySet<string>;
  /** What its caller knows; undefined where nobody was told of this task. */
  readonly ledger: LedgerTask | undefined;
}

/** A run at its end. */
export interface RunEnd {
  readonly tasks: readonly TaskEnd[];
  readonly followers: readonly Followed[];
  /** Ids of ListTasks, all pages. */
  readonly listed: readonly string[];
  readonly odd: readonly Odd[];
  readonly twice: readonly Odd[];
  /** Tasks that were acknowledged and at some time not found. */
  readonly missing: ReadonlySet<string>;
  /** Webhooks of the tasks; absent where they had none. */
  readonly hooks?: readonly HookEnd[];
  /** What replicas did that they should not: ended by themselves, never went. */
  readonly replicas: readonly string[];
  /** Failovers of a store that may lose what was acknowledged (durability local); absent where nothing may be lost. */
  readonly losses?: Losses;
  /** Entries that are kept of every log, where logs are trimmed. */
  readonly window?: number;
}

/** What came out. */
export interface Verdict {
  readonly found: readonly Finding[];
  /** What was acknowledged and is gone, where the store may lose it: an event that a follower saw, a message, a task. */
  readonly allowed: readonly string[];
  /** What failovers have cost, where they may cost something. */
  readonly figures?: LossFigures;
}

/** Checks all. */
export function checkRun(run: RunEnd): Verdict {
  const found: Finding[] = [];
  const allowed = new Set<string>();
  const byId = new Map(run.tasks.map((task) => [task.taskId, task]));
  const gone = (taskId: string, what: string): void => {
    if (run.losses !== undefined) allowed.add(`${taskId}: ${what}`);
    else found.push({ kind: "lost", taskId, what });
  };
  for (const task of run.tasks) found.push(...checkTask(task, run, gone));
  for (const follower of run.followers) {
    const entries = byId.get(follower.taskId)?.entries ?? [];
    const verdict =
      run.losses === undefined
        ? checkFollower(follower, entries, { whole: run.window === undefined })
        : checkRewound(follower, { last: entries, before: historiesOf(follower.taskId, run.losses.histories) });
    found.push(...verdict.found);
    if (run.losses !== undefined) for (const position of verdict.vanished) allowed.add(`${follower.taskId}: event ${position}`);
  }
  for (const hook of run.hooks ?? []) found.push(...checkWebhook(hook, byId.get(hook.taskId)?.entries ?? []));
  for (const { state, taskId } of run.followers)
    if (state === "missing" && run.losses !== undefined) gone(taskId, "a follower was told that there is no such task");
  for (const taskId of run.missing) gone(taskId, "a call was answered that there is no such task");
  for (const { taskId, what } of run.twice) found.push({ kind: "doubled", taskId, what });
  for (const { taskId, what } of run.odd) found.push({ kind: "broken", taskId, what });
  for (const what of run.replicas) found.push({ kind: "broken", taskId: "", what });
  found.push(...promises(run, byId));
  if (run.losses === undefined) return { found, allowed: [...allowed] };
  found.push(...checkHistories(run.losses.histories));
  return { found, allowed: [...allowed], figures: lossFigures(run.losses, (taskId) => byId.get(taskId)?.entries ?? []) };
}

/** What a log has been in each server. */
function historiesOf(taskId: string, histories: readonly Logs[]): (readonly Entry[])[] {
  return histories.flatMap((logs) => {
    const entries = logs.get(taskId);
    return entries === undefined ? [] : [entries];
  });
}

/** Promises 3 and 4 held in them too. */
function checkHistories(histories: readonly Logs[]): Finding[] {
  return histories.flatMap((logs) => [...logs].flatMap(([taskId, entries]) => checkLog(taskId, entries, { rewound: true })));
}

function checkTask(end: TaskEnd, run: RunEnd, gone: (taskId: string, what: string) => void): Finding[] {
  const { taskId, entries, task, custody, ledger } = end;
  if (entries.length === 0 || task === undefined) {
    gone(taskId, entries.length === 0 ? "the task was acknowledged and has no log" : "GetTask does not know it");
    return [];
  }
  const found = checkLog(taskId, entries, { rewound: run.losses !== undefined });
  if (end.kept !== undefined && run.window !== undefined) found.push(...checkTrimmed(taskId, end.kept, entries, run.window));
  if (!isAtRest(stateOf(task)))
    found.push({ kind: "forgotten", taskId, what: `it never came to rest; it is ${custody === "nobody" ? "nobody's" : custody}` });
  if (!run.listed.includes(taskId)) found.push({ kind: "lost", taskId, what: "ListTasks does not have it" });
  if (ledger === undefined) {
    // In a run that loses tasks their senders are told so, and begin them anew.
    if (run.losses === undefined) found.push({ kind: "doubled", taskId, what: "nobody was told of this task" });
    return found;
  }
  const messages = new Set(entries.flatMap((entry) => messageIn(entry) ?? []));
  for (const { messageId, outcome } of ledger.followUps) {
    if (outcome === "accepted" && !messages.has(messageId)) gone(taskId, `the follow-up ${messageId} was accepted and is not in the log`);
  }
  const canceled = entries.some((entry) => entry.kind === "command" && entry.command.kind.case === "cancel");
  if (ledger.canceled && !canceled) gone(taskId, "the cancel was accepted and is not in the log");
  return found;
}

/** The library's check; what it finds of promise 6 is forgotten, the rest it says in its own words. */
function promises(run: RunEnd, byId: ReadonlyMap<string, TaskEnd>): Finding[] {
  const tasks = run.tasks.flatMap((end) => (end.task === undefined || end.entries.length === 0 ? [] : [{ ...end, task: end.task }]));
  // What a rewound store told its followers is judged above.
  const followers = run.losses !== undefined ? [] : run.followers.filter(({ taskId }) => byId.get(taskId)?.task !== undefined);
  return checkPromises(tasks, followers.map(recordOf)).map((what) => ({
    kind: / 6: /.test(what) ? "forgotten" : "broken",
    taskId: /[0-9a-f-]{36}/.exec(what)?.[0] ?? "",
    what,
  }));
}

/** A follower as the library's check takes it: one stream, so without the task that a visit begins with where nothing had happened since. */
function recordOf({ taskId, frames, state }: Followed): FollowerRecord {
  const kept: SeenFrame[] = [];
  for (const frame of frames) {
    const last = kept.at(-1);
    const same = frame.response.payload.case === "task" && last?.position.offset === frame.position.offset && last.visit !== frame.visit;
    if (!same) kept.push(frame);
  }
  return { taskId, frames: kept, ended: state === "ended" };
}
