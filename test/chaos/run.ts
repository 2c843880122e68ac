/** One chaos run: tasks and faults for a while, calm, then everything is checked. */
import { setTimeout as delay } from "node:timers/promises";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema, type TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Entry, type Position, samePosition } from "../../src/core/log-entry.ts";
import { isInterrupted, isTerminal, stateAfter } from "../../src/core/task.ts";
import { type Bed, openBed } from "./bed.ts";
import { callTask, type CallerContext } from "./caller-of-task.ts";
import { callWithClient } from "./caller-with-client.ts";
import type { RunEnd, TaskEnd } from "./check-run.ts";
import { hasAllOf } from "./check-webhooks.ts";
import type { ClientRun } from "./client-run.ts";
import { Clients } from "./clients.ts";
import { Faults, type DoneFault } from "./faults.ts";
import type { Follower } from "./follower.ts";
import { Ledger } from "./ledger.ts";
import type { ChaosOptions } from "./options.ts";
import { Passages } from "./passages.ts";
import { CUTS, type PlannedFault, planFaults } from "./plan.ts";
import { Random } from "./random.ts";
import { Hooks } from "./webhooks.ts";

/** What tasks, callers and followers get to finish after the last fault. */
const SETTLE_MS = 60_000;
/** More callers at once than this wait for one to be done. */
const MOST_CALLERS = 60;
const LOOK_MS = 100;
const HOOKS_LOOK_MS = 500;
/** A replica takes about 200; what it holds for callers is bounded by options to less than the rest. */
const MOST_MIB = 700;

/** What callers do with a task. */
type CallTask = (random: Random) => Promise<void>;

/** A run that is over, before it is judged. */
export interface ChaosRun extends AsyncDisposable {
  readonly bed: Bed;
  readonly end: RunEnd;
  readonly ledger: Ledger;
  readonly followers: readonly Follower[];
  /** Runs of `throughline/client`. */
  readonly runs: readonly ClientRun[];
  readonly faults: readonly DoneFault[];
  readonly skipped: number;
  /** Calls that failed and were made again. */
  readonly again: number;
}

/** Runs. `say` is told how far it is. */
export async function runChaos(options: ChaosOptions, say: (line: string) => void): Promise<ChaosRun> {
  const random = new Random(options.seed);
  await using started = new AsyncDisposableStack();
  const bed = started.use(await openBed(options));
  say(`${options.replicas} replicas on ${options.store} run; their stderr: ${bed.dir}`);
  const over = new AbortController();
  const clients = new Clients(() => bed.fleet.endpoints(), over.signal);
  const hooks = options.webhooks ? started.use(await Hooks.open(options.seed)) : undefined;
  const context: CallerContext = { clients, ledger: new Ledger(), followers: [], hooks, over: over.signal };
  const runs: ClientRun[] = [];
  const passages = options.clients === "ours" ? started.use(await openPassages(bed, random.fork("passages"))) : undefined;
  const call: CallTask = (chance) =>
    passages === undefined ? callTask(context, chance) : callWithClient({ ...context, passages, runs }, chance);

  const faults = new Faults(bed.fleet, bed.store, random.fork("faults"), passages?.faults);
  const ways = Object.keys(passages?.faults ?? {}).filter((kind) => options.faults.length === 0 || options.faults.includes(kind));
  const plan = planFaults(random.fork("plan"), [...bed.kinds, ...ways], options.faultEverySeconds * 1000);
  const bounds = boundsOf(options, faults);
  say(`${bounds.text}, seed ${options.seed}`);
  const callers = new Set<Promise<void>>();
  const [begun] = await Promise.allSettled([
    beginTasks(context, random.fork("tasks"), { ...options, ...bounds, call, say }, callers),
    faults.run(plan, bounds.moreFaults, over.signal),
  ]);
  if (begun.status === "rejected") throw begun.reason;

  say("the time for tasks and faults is over; replicas come to rest");
  const stuck = await bed.fleet.calm(SETTLE_MS);
  say("tasks come to rest");
  const deadline = performance.now() + SETTLE_MS;
  await soon(callers, SETTLE_MS);
  const tasks = await restingTasks(bed, context, random.fork("end"), deadline);
  say("followers come to the end");
  await settleFollowers(context.followers, tasks, deadline);
  if (hooks !== undefined) {
    say("webhooks come to the end");
    await settleHooks(bed, hooks, deadline + SETTLE_MS);
  }
  const listed = await listAll(context, random.fork("list"));
  const given = givenIn(bed);
  const unknown = await Promise.all(
    listed.filter((id) => !context.ledger.tasks.has(id)).map((id) => endOf(bed, context, random, id, given)),
  );
  over.abort();
  await soon([...callers, ...context.followers.map(({ done }) => done)], SETTLE_MS);
  clients.close();
  const end: RunEnd = {
    tasks: options.windowEntries === undefined ? [...tasks, ...unknown] : archived([...tasks, ...unknown], bed),
    followers: context.followers,
    listed,
    odd: context.ledger.odd,
    twice: context.ledger.twice,
    missing: context.ledger.missing,
    ...(hooks && { hooks: hooks.attached }),
    replicas: [...bed.fleet.crashed, ...stuck.map((name) => `${name} did not go although it was asked to`), ...tooLarge(bed)],
    ...(bed.store.losses === undefined ? {} : { losses: bed.store.losses() }),
    ...(options.windowEntries === undefined ? {} : { window: options.windowEntries }),
  };
  const kept = started.move();
  const { ledger, followers } = context;
  const dispose = (): Promise<void> => kept.disposeAsync();
  return {
    bed,
    end,
    ledger,
    followers,
    runs,
    faults: faults.done,
    skipped: faults.skipped,
    again: clients.again,
    [Symbol.asyncDispose]: dispose,
  };
}

/** The tasks with all that was ever stored of their logs. */
function archived(tasks: readonly TaskEnd[], { store }: Bed): TaskEnd[] {
  const logs = store.archive?.() ?? new Map();
  return tasks.map((task) => ({ ...task, entries: logs.get(task.taskId) ?? [], kept: task.entries }));
}

/** Promise 8, as far as a run can tell. */
function tooLarge({ fleet }: Bed): string[] {
  return fleet.peakMiB > MOST_MIB ? [`8: a replica has taken ${Math.round(fleet.peakMiB)} MiB`] : [];
}

/** How long a run goes on. */
interface Bounds {
  readonly text: string;
  /** Whether another task is to be begun after so many, at this time. */
  readonly moreTasks: (count: number, atMs: number) => boolean;
  readonly moreFaults: (fault: PlannedFault) => boolean;
}

/** By its minutes, or until there were enough tasks and cuts: then both go on until there are enough of either. */
function boundsOf({ minutes, bound }: ChaosOptions, { done }: Faults): Bounds {
  const durationMs = minutes * 60_000;
  if (bound === undefined) {
    return { text: `faults for ${minutes} minutes`, moreTasks: (_, at) => at <= durationMs, moreFaults: ({ at }) => at < durationMs };
  }
  const moreFaults = (): boolean => done.filter(({ kind }) => CUTS.has(kind)).length < bound.cuts;
  return {
    text: `${bound.tasks} tasks and ${bound.cuts} cuts`,
    moreTasks: (count) => count < bound.tasks || moreFaults(),
    moreFaults,
  };
}

/** Opens the clients of ours. */
async function openPassages({ fleet }: Bed, random: Random): Promise<Passages> {
  const [first] = fleet.endpoints();
  const reply = await fetch(`http://127.0.0.1:${first?.http}/.well-known/agent-card.json`);
  const card = fromJson(AgentCardSchema, (await reply.json()) as JsonValue, { ignoreUnknownFields: true });
  return Passages.open(card, () => fleet.endpoints(), random);
}

/** Begins tasks as they come; answers when there are enough, with those under way in `callers`. */
async function beginTasks(
  context: CallerContext,
  random: Random,
  { call, moreTasks, tasksPerSecond, say }: Bounds & Pick<ChaosOptions, "tasksPerSecond"> & { call: CallTask; say: (line: string) => void },
  callers: Set<Promise<void>>,
): Promise<void> {
  const begun = performance.now();
  let at = 0;
  let told = 0;
  for (let count = 0; ; count += 1) {
    at += random.wait(1000 / tasksPerSecond);
    if (!moreTasks(count, at)) break;
    const wait = begun + at - performance.now();
    if (wait > 0) await delay(wait);
    while (callers.size >= MOST_CALLERS) await Promise.race(callers);
    const caller = call(random.fork(count)).catch((error: unknown) => {
      // Cut off by the end of the run: what the task is then tells the rest.
      if (!context.over.aborted) context.ledger.odd.push({ taskId: "", what: `a caller broke off: ${String(error)}` });
    });
    callers.add(caller);
    void caller.then(() => callers.delete(caller));
    if (at - told < 30_000) continue;
    told = at;
    say(`${count} tasks begun, ${callers.size} callers at work`);
  }
}

/** Waits for all, whatever becomes of them, but not for long. */
async function soon(all: Iterable<Promise<void>>, ms: number): Promise<void> {
  const late = new AbortController();
  await Promise.race([Promise.allSettled(all), delay(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}

/** Waits until every task is at rest, or the deadline; answers them as they are. */
async function restingTasks(bed: Bed, context: CallerContext, random: Random, deadline: number): Promise<TaskEnd[]> {
  const ids = [...context.ledger.tasks.keys()];
  for (const taskId of ids) {
    while (performance.now() < deadline && !(await isResting(bed, taskId))) await delay(LOOK_MS);
  }
  const given = givenIn(bed);
  const ends: TaskEnd[] = [];
  for (const id of ids) ends.push(await endOf(bed, context, random, id, given));
  return ends;
}

/** Ids of the messages that turns were given, by task. */
function givenIn(bed: Bed): ReadonlyMap<string, ReadonlySet<string>> {
  const given = new Map<string, Set<string>>();
  for (const { taskId, messageId } of bed.given()) given.set(taskId, (given.get(taskId) ?? new Set()).add(messageId));
  return given;
}

async function isResting(bed: Bed, taskId: string): Promise<boolean> {
  const entries = await bed.store.logOf(taskId);
  if (entries.length === 0) return true;
  // The last one that is said: of a log that is trimmed there may be none.
  const state = entries.reduce<TaskState | undefined>(
    (last, entry) => (entry.kind === "event" ? stateAfter(entry.event) : undefined) ?? last,
    undefined,
  );
  if (state === undefined) return false;
  // A turn may stay alive while it waits for its caller; one that has ended is nobody's.
  return isInterrupted(state) || (isTerminal(state) && (await bed.store.custodyOf(taskId)) === "nobody");
}

async function endOf(
  bed: Bed,
  { clients, ledger }: CallerContext,
  random: Random,
  taskId: string,
  given: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<TaskEnd> {
  const entries = await bed.store.logOf(taskId);
  const custody = await bed.store.custodyOf(taskId);
  const task = await clients.task(random.fork(taskId), taskId);
  return { taskId, entries, task, custody, given: given.get(taskId) ?? new Set(), ledger: ledger.tasks.get(taskId) };
}

/** Followers get to the last event of their task. */
async function settleFollowers(followers: readonly Follower[], tasks: readonly TaskEnd[], deadline: number): Promise<void> {
  const ends = new Map(tasks.map(({ taskId, entries }) => [taskId, hasAll(entries)]));
  // Of a task that is gone nothing is to be had: a follower is told so.
  const reached = followers.map((follower) => follower.settle(ends.get(follower.taskId) ?? ((): boolean => false)));
  await soon(reached, Math.max(1000, deadline - performance.now()));
  for (const follower of followers) follower.stop();
}

/** Webhooks that ever answer get to the last event of their task. */
async function settleHooks({ store }: Bed, hooks: Hooks, deadline: number): Promise<void> {
  for (;;) {
    await hooks.look();
    const ends = hooks.attached.filter(({ answers }) => answers).map(async (hook) => hasAllOf(hook, await store.logOf(hook.taskId)));
    if ((await Promise.all(ends)).every(Boolean) || performance.now() > deadline) return;
    await delay(HOOKS_LOOK_MS);
  }
}

/** Whether a place in a log is one after which no event stands. */
function hasAll(entries: readonly Entry[]): (position: Position) => boolean {
  const last = entries.findLast(({ kind }) => kind === "event");
  return ({ offset, mark }) =>
    last !== undefined && offset >= last.offset && entries.some((entry) => samePosition(entry, { offset, mark }));
}

/** ListTasks, page by page. */
async function listAll({ clients, ledger }: CallerContext, random: Random): Promise<string[]> {
  const ids: string[] = [];
  let pageToken = "";
  do {
    const answer = await clients.ask(random, "ListTasks", { pageSize: 100, historyLength: 0, ...(pageToken === "" ? {} : { pageToken }) });
    if (answer.is === "refused") {
      ledger.odd.push({ taskId: "", what: `a list was refused: ${answer.reason}` });
      break;
    }
    ids.push(...((answer.message["tasks"] ?? []) as { id: string }[]).map(({ id }) => id));
    pageToken = (answer.message["nextPageToken"] ?? "") as string;
  } while (pageToken !== "");
  return ids;
}
