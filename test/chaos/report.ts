/** The figures of a run, what was found, and the last line that says it all. */
import { toJsonString } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CommandSchema, MemoSchema } from "../../gen/throughline/v1/log_pb.ts";
import { type Entry, formatPosition } from "../../src/core/log-entry.ts";
import { checkClientRun } from "./check-client-run.ts";
import { progressOf } from "../webhooks/acknowledgements.ts";
import { checkRun, type TaskEnd, type Verdict } from "./check-run.ts";
import type { HookEnd } from "./check-webhooks.ts";
import { textIn } from "./check-log.ts";
import type { Finding, FindingKind } from "./finding.ts";
import type { Followed } from "./follower.ts";
import { measure, quantile } from "./latency.ts";
import type { LossFigures } from "./loss-figures.ts";
import type { ChaosOptions } from "./options.ts";
import { CUTS } from "./plan.ts";
import { LAGGING } from "./redis-stores.ts";
import type { ChaosRun } from "./run.ts";

/** Of each kind of finding so many are printed; all are in the file. */
const SHOWN = 20;
const LINE = 300;

/** A run and its judgement. */
export interface Report {
  readonly lines: readonly string[];
  readonly ok: boolean;
}

/** Judges a run. */
export function report(options: ChaosOptions, run: ChaosRun): Report {
  const verdict = checkRun(run.end);
  const logs = new Map(run.end.tasks.map((task) => [task.taskId, task.entries]));
  const logOf = (taskId: string): readonly Entry[] => logs.get(taskId) ?? [];
  // Of those that were not streams there is nothing to measure.
  const latency = measure([...run.followers, ...run.runs.filter(({ reads }) => reads.length === 0)], logOf);
  const ours = run.runs.flatMap((one) => checkClientRun(one, logOf(one.taskId)));
  const found = [...verdict.found, ...ours, ...latency.hangs, ...unproven(run, verdict)];
  const { tasks } = run.end;
  const events = tasks.reduce((count, { entries }) => count + entries.filter(({ kind }) => kind === "event").length, 0);
  const readers = [...run.followers, ...run.runs];
  const visits = readers.flatMap((reader) => reader.visits);
  const frames = readers.reduce((count, reader) => count + reader.frames.length, 0);
  const given = run.bed.given();
  const resumed = given.filter((one) => one.resumed).length;
  const ends = tasks.map(({ entries }) => endText(entries));
  const failed = ends.filter((text) => /the task did not finish/.test(text)).length;
  const ms = (share: number): string => `${quantile(latency.delivered, share)} ms`;
  const lines = [
    `tasks ${tasks.length} (${countsOf(tasks.map(({ ledger }) => ledger?.shape ?? "unknown"))})`,
    `events ${events}, seen ${frames} times by ${readers.length} readers`,
    `faults ${run.faults.length} (${countsOf(run.faults.map(({ kind }) => kind))}), ${run.skipped} for which nobody was free`,
    `replicas started ${run.bed.fleet.started}, most memory of one ${Math.round(run.bed.fleet.peakMiB)} MiB`,
    `reconnects ${visits.length - readers.length} (by position ${visits.filter(({ from }) => from !== undefined).length})`,
    `takeovers ${resumed + failed} (run again ${resumed}, ended as not resumable ${failed})`,
    `fenced ${run.bed.said("the lease is lost")} owners`,
    `sends repeated ${run.ledger.repeated}, calls made again ${run.again}`,
    `stored to seen p50 ${ms(0.5)}, p99 ${ms(0.99)}, longest ${ms(1)}`,
    `tasks in mid-stream ${told(run.followers)}`,
    ...(run.end.hooks === undefined ? [] : explainHooks(run.end.hooks, logOf)),
    ...(options.clients === "ours" ? explainClients(run) : []),
    ...(verdict.figures === undefined ? [] : explainLosses(verdict.figures, verdict.allowed)),
  ];
  if (found.length > 0) lines.push(...explain(run, found));
  const count = (kind: FindingKind): number => found.filter((one) => one.kind === kind).length;
  const { minutes, bound, seed, replicas, store, durability } = options;
  const length = bound === undefined ? `${minutes} minutes` : `${bound.tasks} tasks and ${bound.cuts} cuts`;
  lines.push(
    `seed ${seed}, ${length}, ${replicas} replicas, store ${store}, durability ${durability}; stderr of the replicas: ${run.bed.dir}`,
  );
  if (count("broken") > 0) lines.push(`broken ${count("broken")}`);
  lines.push(`lost ${count("lost")} doubled ${count("doubled")} reordered ${count("reordered")} forgotten ${count("forgotten")}`);
  return { lines, ok: found.length === 0 };
}

/** What webhooks were told, and how long it took. */
function explainHooks(hooks: readonly HookEnd[], logOf: (taskId: string) => readonly Entry[]): string[] {
  const all = hooks.map((hook) => ({ hook, ...progressOf(hook.requests, logOf(hook.taskId)) }));
  const requests = hooks.flatMap((one) => one.requests);
  const acknowledged = requests.filter(({ status }) => status === 200);
  const waits = hooks.filter(({ manner }) => manner === "good").flatMap((hook) => waitsOf(hook, logOf(hook.taskId)));
  const sorted = waits.toSorted((a, b) => a - b);
  const repeats = all.reduce((sum, one) => sum + one.repeats, 0);
  return [
    `webhooks ${hooks.length} (${countsOf(hooks.map(({ manner }) => manner))}), ${hooks.filter(({ registeredAt }) => registeredAt === undefined).length} with the send`,
    `notifications ${requests.length}, acknowledged ${acknowledged.length}, of what was acknowledged already ${repeats}`,
    `stored to notified p50 ${quantile(sorted, 0.5)} ms, p99 ${quantile(sorted, 0.99)} ms, longest ${quantile(sorted, 1)} ms (good receivers)`,
  ];
}

/** Milliseconds between the store and the first request with it. */
function waitsOf({ requests }: HookEnd, entries: readonly Entry[]): number[] {
  const first = new Map<string, number>();
  for (const { id, at } of requests) if (!first.has(id)) first.set(id, at);
  return [...first].flatMap(([id, at]) => {
    const entry = entries[Number(/\/(\d+)\./.exec(id)?.[1]) - 1];
    return entry === undefined ? [] : [Math.max(0, at - entry.time)];
  });
}

function explainClients({ runs, faults }: ChaosRun): string[] {
  const cuts = faults.map(({ kind }) => kind).filter((kind) => CUTS.has(kind));
  const bindings = runs.flatMap(({ visits }) => visits[0]?.binding ?? []);
  return [
    `runs of clients ${runs.length} (${countsOf(runs.map(({ what }) => what))}; ${countsOf(bindings)})`,
    `cuts ${cuts.length} (${countsOf(cuts)})`,
  ];
}

/** A failover that should have lost something and has not: the run proves nothing. */
function unproven({ faults }: ChaosRun, { figures }: Verdict): Finding[] {
  if (figures === undefined || !faults.some(({ kind }) => kind === LAGGING)) return [];
  const { missing, events } = figures;
  return missing > 0 && events > 0 ? [] : [{ kind: "broken", taskId: "", what: "servers that lagged were promoted, and nothing was lost" }];
}

function explainLosses(figures: LossFigures, allowed: readonly string[]): string[] {
  const { behind, missing, asTheyWere, anew, events, commands, tasks, wholeTasks } = figures;
  return [
    `successors behind ${behind}, entries that they did not have ${missing}, of these given back as they were ${asTheyWere}`,
    `written anew ${anew}`,
    `acknowledged and lost, which durability local allows: ${events} events and ${commands} commands of ${tasks} tasks, ${wholeTasks} of them gone altogether; ${allowed.length} noticed by callers`,
  ];
}

/** How often followers were given the task in the place of events, or because of what was lost. */
function told(followers: readonly Followed[]): number {
  return followers.reduce((count, { frames, visits }) => {
    const snapshots = frames.filter(({ response, visit }, index) => {
      const fresh = frames[index - 1]?.visit !== visit;
      return response.payload.case === "task" && (!fresh || visits[visit]?.from !== undefined);
    });
    return count + snapshots.length;
  }, 0);
}

function countsOf(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
}

function endText(entries: readonly Entry[]): string {
  const last = entries.at(-1);
  return last?.kind === "event" ? textIn(last.event) : "";
}

/** The first findings, and everything about their tasks in files. */
function explain(run: ChaosRun, found: readonly Finding[]): string[] {
  const lines = found.slice(0, SHOWN).map(({ kind, taskId, what }) => `${kind.toUpperCase()} ${taskId}: ${what}`.slice(0, LINE));
  if (found.length > SHOWN) lines.push(`… and ${found.length - SHOWN} more`);
  const ids = new Set(found.map(({ taskId }) => taskId).filter((id) => id !== ""));
  const parts = run.end.tasks.filter(({ taskId }) => ids.has(taskId)).map((task) => dump(task, found, run));
  const faults = run.faults.map(({ kind, on, from, to }) => `${time(from)} to ${time(to)} ${kind} ${on}`).join("\n");
  const path = run.bed.keep(
    "findings.txt",
    `${found.map((one) => JSON.stringify(one)).join("\n")}\n\nfaults\n${faults}\n\n${parts.join("\n")}`,
  );
  return [...lines, `all findings, with logs and what followers saw: ${path}`];
}

function dump(task: TaskEnd, found: readonly Finding[], { followers, runs, end }: ChaosRun): string {
  const { taskId, entries, ledger, custody } = task;
  const mine = [...followers, ...runs].filter((follower) => follower.taskId === taskId);
  return [
    `task ${taskId} ${JSON.stringify(ledger)} ${custody}`,
    ...found.filter((one) => one.taskId === taskId).map(({ kind, what }) => `  ${kind}: ${what}`),
    "  log",
    ...entries.map((entry) => `    ${formatPosition(entry)} epoch ${entry.epoch} ${time(entry.time)} ${shown(entry)}`.slice(0, LINE)),
    `  GetTask ${task.task === undefined ? "none" : toJsonString(TaskSchema, task.task)}`.slice(0, 2000),
    ...mine.flatMap(dumpFollower),
    ...(end.hooks ?? []).filter((hook) => hook.taskId === taskId).flatMap(dumpHook),
    "",
  ].join("\n");
}

function dumpHook({ id, manner, registeredAt, requests }: HookEnd): string[] {
  const since = registeredAt === undefined ? "with the send" : `at ${time(registeredAt)}`;
  const lines = requests.map(({ id: event, at, status }) => `    ${time(at)} ${event.replace(/^.*\//, "")} ${status ?? "no answer"}`);
  return [`  webhook ${id} (${manner}) ${since}`, ...lines];
}

function dumpFollower({ state, visits, frames }: Followed, index: number): string[] {
  const lines = visits.map((visit, number) => {
    const { replica, binding, from, opened, closed, end } = visit;
    const seen = frames.filter((frame) => frame.visit === number);
    const places = seen.map(({ position, response }) => `${response.payload.case === "task" ? "task@" : ""}${formatPosition(position)}`);
    const start = from === undefined ? "" : ` after ${formatPosition(from)}`;
    return `    ${time(opened)} to ${time(closed)} ${binding} ${replica}${start}: ${places.join(" ")} (${end})`;
  });
  return [`  follower ${index}: ${state}`].concat(lines);
}

function shown(entry: Entry): string {
  if (entry.kind === "memo") return toJsonString(MemoSchema, entry.memo);
  return entry.kind === "event" ? toJsonString(StreamResponseSchema, entry.event) : toJsonString(CommandSchema, entry.command);
}

function time(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}
