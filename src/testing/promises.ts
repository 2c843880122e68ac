/** The promises of the service as a check over what was stored and what readers saw. */
import { equals } from "@bufbuild/protobuf";
import { Role, type StreamResponse, StreamResponseSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { Fold } from "../core/fold.ts";
import { type Entry, formatPosition, type Position } from "../core/log-entry.ts";
import { apply, HISTORY_LIMIT, isAtRest, isInterrupted, isTerminal, stateAfter, stateOf } from "../core/task.ts";

/** One task at the end of a run. */
export interface TaskRecord {
  readonly taskId: string;
  /** Its whole log, from the first entry on. */
  readonly entries: readonly Entry[];
  /** What GetTask answers. */
  readonly task: Task;
  /** Who looks after it. Absent: not known, not checked. */
  readonly custody?: "owned" | "waiting" | "nobody";
  /** Ids of the messages that turns were given. Absent: not known, not checked. */
  readonly given?: ReadonlySet<string>;
}

/** A frame as a reader saw it. */
export interface SeenFrame {
  readonly response: StreamResponse;
  /** Where it stands; absent where the reader did not ask for positions. */
  readonly position?: Position | undefined;
}

/** One reader's frames, over as many connections as it needed. */
export interface FollowerRecord {
  readonly taskId: string;
  readonly frames: readonly SeenFrame[];
  /** Whether its stream ended by itself, as after a terminal event. */
  readonly ended: boolean;
}

/** How {@link checkPromises} judges. */
export interface PromiseOptions {
  /** Messages that `history` keeps. Default 1,000. */
  readonly historyLimit?: number;
}

/**
 * Checks promises 1 to 6 over a run that is over: same events in the same order for every reader, nothing seen that was not stored, epochs
 * that never fall, one terminal event and nothing after it, one task however it is put together, nothing forgotten. Answers what was
 * broken, in words; empty means that all were kept.
 */
export function checkPromises(
  tasks: readonly TaskRecord[],
  followers: readonly FollowerRecord[],
  { historyLimit = HISTORY_LIMIT }: PromiseOptions = {},
): string[] {
  const broken: string[] = [];
  const known = new Map(tasks.map((task) => [task.taskId, task]));
  for (const task of tasks) for (const what of brokenByTask(task, historyLimit)) broken.push(`task ${task.taskId}: ${what}`);
  for (const [index, follower] of followers.entries()) {
    const task = known.get(follower.taskId);
    const found = task === undefined ? ["follows a task that is not recorded"] : brokenByFollower(follower, task, historyLimit);
    for (const what of found) broken.push(`follower ${index} of ${follower.taskId}: ${what}`);
  }
  return broken;
}

function brokenByTask(record: TaskRecord, historyLimit: number): string[] {
  const { entries, task, custody } = record;
  const broken: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const before = entries[index - 1];
    if (entry.offset !== index + 1) broken.push(`1: offset ${entry.offset} at place ${index + 1}`);
    if (before !== undefined && entry.epoch < before.epoch) broken.push(`3: epoch ${entry.epoch} after ${before.epoch} at ${entry.offset}`);
    if (isEnd(entry) && index !== entries.length - 1) broken.push(`4: the terminal event at ${entry.offset} is not the last entry`);
  }
  if (broken.length > 0) return broken;
  const folded = foldUpTo(entries, entries.length, historyLimit);
  if (!equals(TaskSchema, folded, task)) broken.push("5: GetTask is not the fold of the log");
  const state = stateOf(folded);
  if (custody === "nobody" && !isAtRest(state)) broken.push("6: not at rest, and nobody looks after it");
  if (isTerminal(state) && custody !== undefined && custody !== "nobody") broken.push(`6: it has ended and is still ${custody}`);
  if (!isTerminal(state) && custody !== "owned" && custody !== "waiting") broken.push(...ungiven(record));
  return broken;
}

function ungiven({ entries, given }: TaskRecord): string[] {
  if (given === undefined) return [];
  const messages = entries.flatMap((entry) => (entry.kind === "command" && entry.command.kind.case !== "cancel" ? [entry] : []));
  return messages.flatMap(({ offset, command: { kind } }) => {
    const id = kind.case === "start" || kind.case === "followUp" ? kind.value.messageId : "";
    return given.has(id) ? [] : [`6: the message at ${offset} was given to no turn`];
  });
}

function brokenByFollower({ frames, ended }: FollowerRecord, record: TaskRecord, historyLimit: number): string[] {
  const { entries } = record;
  const starts = startsOf(frames, entries, historyLimit);
  if (starts.length === 0 && frames.length > 0) return ["5: the first frame is the fold of no prefix of the log"];
  // Without positions the first frame may be the fold of several prefixes: one of them must do.
  const verdicts = starts.map((start) => follow(frames, entries, start, historyLimit));
  const [best = []] = verdicts.toSorted((a, b) => a.length - b.length);
  if (best.length > 0 || !ended) return best;
  const last = frames.at(-1)?.response;
  const state = last === undefined ? undefined : stateAfter(last);
  if (state !== undefined && isInterrupted(state)) return [];
  if (state === undefined || !isTerminal(state)) return ["1: the stream ended before the task did"];
  return assembled(frames, record.task, historyLimit);
}

/** Offsets at which the first frame may stand. */
function startsOf(frames: readonly SeenFrame[], entries: readonly Entry[], historyLimit: number): number[] {
  const [first] = frames;
  if (first === undefined) return [];
  if (first.position !== undefined) return [first.position.offset];
  const { payload } = first.response;
  if (payload.case !== "task") return [];
  const fold = new Fold(historyLimit);
  const starts: number[] = [];
  for (const entry of entries) {
    fold.add(entry);
    if (equals(TaskSchema, fold.task, payload.value)) starts.push(entry.offset);
  }
  return starts;
}

function follow(frames: readonly SeenFrame[], entries: readonly Entry[], start: number, historyLimit: number): string[] {
  let at = start;
  for (const [index, { response, position }] of frames.entries()) {
    const { payload } = response;
    if (index > 0 || payload.case !== "task") {
      const next = payload.case === "task" ? position?.offset : nextEvent(entries, index === 0 ? at - 1 : at)?.offset;
      if (next === undefined) return [`2: frame ${index} stands for nothing in the log after ${at}`];
      if (next <= at && index > 0) return [`1: frame ${index} at ${next} after ${at}`];
      at = next;
    }
    const entry = entries[at - 1];
    if (entry === undefined) return [`2: frame ${index} at ${at}, which the log does not hold`];
    if (position !== undefined && formatPosition(position) !== formatPosition(entry)) {
      return [`1: frame ${index} is at ${formatPosition(position)}, the next event at ${formatPosition(entry)}`];
    }
    const same =
      payload.case === "task"
        ? equals(TaskSchema, payload.value, foldUpTo(entries, at, historyLimit))
        : entry.kind === "event" && equals(StreamResponseSchema, response, entry.event);
    if (!same) return [`1: frame ${index} is not what the log holds at ${at}`];
  }
  return [];
}

function nextEvent(entries: readonly Entry[], after: number): Entry | undefined {
  return entries.find(({ offset, kind }) => offset > after && kind === "event");
}

/** What a client that folds its frames has in hand, against what GetTask answers: callers' messages are not streamed. */
function assembled(frames: readonly SeenFrame[], task: Task, historyLimit: number): string[] {
  let folded: Task | undefined;
  for (const { response } of frames) folded = apply(folded, response, historyLimit).task;
  // A reader that came back with a position begins with an event: what came before it, it has from elsewhere.
  if (folded === undefined || frames[0]?.response.payload.case !== "task") return [];
  const [mine, theirs] = [agentsPart(folded), agentsPart(task)];
  // Callers' messages push others out of a history that is full: then the two hold the same latest ones.
  if (Math.max(folded.history.length, task.history.length) >= historyLimit) {
    const shared = Math.min(mine.history.length, theirs.history.length);
    for (const part of [mine, theirs]) part.history = part.history.slice(part.history.length - shared);
  }
  return equals(TaskSchema, mine, theirs) ? [] : ["5: what the follower assembled is not what GetTask answers"];
}

function agentsPart(task: Task): Task {
  return { ...task, history: task.history.filter(({ role }) => role !== Role.USER) };
}

function foldUpTo(entries: readonly Entry[], offset: number, historyLimit: number): Task {
  const fold = new Fold(historyLimit);
  for (const entry of entries) if (entry.offset <= offset) fold.add(entry);
  return fold.task;
}

function isEnd(entry: Entry): boolean {
  const state = entry.kind === "event" ? stateAfter(entry.event) : undefined;
  return state !== undefined && isTerminal(state);
}
