/** Each check of the chaos run finds what was planted for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { Fold } from "../../src/core/fold.ts";
import { Entry } from "../../src/core/log-entry.ts";
import { checkFollower } from "./check-follower.ts";
import { checkLog } from "./check-log.ts";
import { checkRewound } from "./check-rewound.ts";
import { checkRun, type RunEnd, type TaskEnd } from "./check-run.ts";
import { checkTrimmed } from "./check-trimmed.ts";
import type { Finding } from "./finding.ts";
import type { Followed, SeenFrame } from "./follower.ts";
import { type GoodRun, goodRun } from "./good-run.ts";
import { lossFigures } from "./loss-figures.ts";
import { HANG_MS, measure } from "./latency.ts";
import { planFaults } from "./plan.ts";
import { Random } from "./random.ts";

const kinds = (found: readonly Finding[]): string[] => [...new Set(found.map(({ kind }) => kind))];
const at = <T>(list: readonly T[], index: number): T => list.at(index) as T;
const losses = { planned: [], histories: [] };
const strict = { rewound: false };
const whole = { whole: true };

test("a run that kept its promises is found so", async () => {
  const { run } = await goodRun();
  assert.deepEqual(checkRun(run), { found: [], allowed: [] });
  assert.deepEqual(measure(run.followers, () => run.tasks[0]?.entries ?? []).hangs, []);
});

test("an event that a follower missed is lost: in the middle, at the end, or because it was told that there is no task", async () => {
  const { task, follower } = await goodRun();
  for (const index of [2, 5, -1])
    assert.deepEqual(kinds(follow(task, follower, { frames: without(follower.frames, index) })), ["lost"], `${index}`);
  assert.deepEqual(kinds(follow(task, follower, { frames: [], state: "open" })), ["lost"]);
  assert.deepEqual(kinds(follow(task, follower, { state: "missing" })), ["lost"]);
});

test("an event that a follower saw again is doubled, on the same visit or on the next", async () => {
  const { task, follower } = await goodRun();
  for (const index of [2, 4, -1]) {
    const { frames } = follower;
    const again = { ...at(frames, index), visit: 1 };
    assert.deepEqual(kinds(follow(task, follower, { frames: frames.concat(again) })), ["doubled"], `${index}`);
  }
});

test("two events that changed places are reordered, and so is a task that goes back", async () => {
  const { task, follower } = await goodRun();
  const { frames } = follower;
  const swapped = frames.with(2, at(frames, 3)).with(3, at(frames, 2));
  assert.ok(kinds(follow(task, follower, { frames: swapped })).includes("reordered"));
  const back = [...frames.slice(0, 4), snapshot(task, 3, 1), ...frames.slice(4)];
  assert.ok(kinds(follow(task, follower, { frames: back })).includes("reordered"));
});

test("a task in mid-stream stands for what was before it, and must be the fold of the log", async () => {
  const { task, follower } = await goodRun();
  const { frames } = follower;
  const place = at(frames, 4).position.offset;
  const jumped = [...frames.slice(0, 2), snapshot(task, place, 1), ...frames.slice(5)];
  const trimmed = (seen: readonly SeenFrame[]) => checkFollower({ ...follower, frames: seen }, task.entries, { whole: false }).found;
  assert.deepEqual(trimmed(jumped), []);
  const wrong = snapshot(task, place, 1, place - 1);
  assert.deepEqual(kinds(trimmed([...frames.slice(0, 2), wrong, ...frames.slice(5)])), ["broken"]);
});

test("what the log does not have is lost; what is not what it has, or came before it was stored, breaks a promise", async () => {
  const { task, follower } = await goodRun();
  const { frames } = follower;
  const other = { ...at(frames, 3), position: { ...at(frames, 3).position, mark: "00000000" } };
  assert.deepEqual(kinds(follow(task, follower, { frames: frames.with(3, other) })), ["lost"]);
  const foreign = { ...at(frames, 3), response: at(frames, 2).response };
  assert.deepEqual(kinds(follow(task, follower, { frames: frames.with(3, foreign) })), ["broken"]);
  const early = { ...at(frames, 3), at: at(frames, 3).at - 1000 };
  assert.deepEqual(kinds(follow(task, follower, { frames: frames.with(3, early) })), ["broken"]);
});

test("a follower may be refused only when the task is over, and only for that reason", async () => {
  const { task, follower } = await goodRun();
  const visits = (end: string): Followed["visits"] => follower.visits.with(1, { ...at(follower.visits, 1), end });
  const refused = { state: "refused", visits: visits("UNSUPPORTED_OPERATION") } as const;
  assert.deepEqual(follow(task, follower, refused), []);
  assert.deepEqual(kinds(follow(task, follower, { state: "refused", visits: visits("INTERNAL") })), ["broken"]);
  const half = task.entries.slice(0, 5);
  const frames = follower.frames.filter(({ position }) => position.offset <= 5);
  assert.deepEqual(kinds(follow({ ...task, entries: half }, follower, { ...refused, frames })), ["broken"]);
});

test("a task in the place of events that are kept is no excuse where logs are whole", async () => {
  const { task, follower } = await goodRun();
  const { frames, visits } = follower;
  const back = [...frames.slice(0, 4), snapshot(task, at(frames, 3).position.offset, 1), ...frames.slice(4)];
  const came = [at(visits, 0), { ...at(visits, 1), from: at(frames, 3).position }];
  assert.deepEqual(kinds(follow(task, follower, { frames: back, visits: came })), ["broken"]);
  assert.deepEqual(checkFollower({ ...follower, frames: back, visits: came }, task.entries, { whole: false }).found, []);
});

test("where the store may lose entries, what vanished is counted, and a history is not exchanged in silence", async () => {
  const { task, follower } = await goodRun();
  const { frames } = follower;
  const lost = at(frames, 3).position.offset;
  const gone = { ...at(frames, 3), position: { offset: lost, mark: "00000000" } };
  const old = [...task.entries.slice(0, lost - 1), copy(at(task.entries, lost - 1), { mark: "00000000" })];
  const histories = { last: task.entries, before: [old] };
  const judged = (seen: readonly SeenFrame[], more: Partial<Followed> = {}): unknown[] => {
    const { found, vanished } = checkRewound({ ...follower, frames: seen, ...more }, histories);
    return [kinds(found), vanished.length];
  };
  assert.deepEqual(judged(frames), [[], 0]);
  assert.deepEqual(judged(frames.with(3, gone)), [["broken"], 1]);
  const told = [...frames.slice(0, 3), gone, snapshot(task, lost, 1), ...frames.slice(4)];
  assert.deepEqual(judged(told), [[], 1]);
  // It stays with what is lost, misses what came after it was told, or saw what no server ever had.
  assert.deepEqual(judged([...frames.slice(0, 3), gone], { state: "open" }), [["broken"], 1]);
  assert.deepEqual(judged(without(told, 6)), [["lost"], 1]);
  assert.deepEqual(judged(without(told, -1), { state: "open" }), [["lost"], 1]);
  const nowhere = { ...gone, position: { offset: lost, mark: "11111111" } };
  assert.deepEqual(judged([...frames.slice(0, 3), nowhere, snapshot(task, lost, 1), ...frames.slice(4)]), [["broken"], 1]);
  // A task that is gone altogether: its followers are told.
  const nothing = { last: [], before: [task.entries] };
  const waits = { ...follower, frames: frames.slice(0, 3), state: "open" } as const;
  assert.deepEqual(kinds(checkRewound(waits, nothing).found), ["broken"]);
  assert.deepEqual(checkRewound({ ...waits, state: "missing" }, nothing).found, []);
});

test("what failovers have lost is counted: as it was, anew, gone", async () => {
  const { task } = await goodRun();
  const { entries, taskId } = task;
  const { length } = entries;
  const had = new Map([[taskId, entries]]);
  const kept = new Map([[taskId, entries.slice(0, 3)]]);
  const figures = (log: readonly Entry[]): unknown => {
    const { missing, asTheyWere, anew, events, commands, wholeTasks } = lossFigures(
      { planned: [{ had, kept }], histories: [had] },
      () => log,
    );
    return [missing, asTheyWere, anew, events + commands, wholeTasks];
  };
  assert.deepEqual(figures(entries), [length - 3, length - 3, 0, 0, 0]);
  assert.deepEqual(figures(entries.with(length - 1, copy(at(entries, -1), { mark: "00000000" }))), [length - 3, length - 4, 1, 0, 0]);
  assert.deepEqual(figures(entries.slice(0, 4)), [length - 3, 1, 0, length - 4, 0]);
  assert.deepEqual(figures([]), [length - 3, 0, 0, length, 1]);
});

test("what is left of a trimmed log is the end of what was stored, and as long as the window", async () => {
  const { entries } = (await goodRun()).task;
  const check = (kept: readonly Entry[]): string[] => kinds(checkTrimmed("t", kept, entries, 3));
  assert.deepEqual(check(entries.slice(-3)), []);
  assert.deepEqual(check(entries), []);
  assert.deepEqual(check(entries.slice(-2)), ["lost"]);
  assert.deepEqual(check(entries.slice(-4, -1)), ["lost"]);
});

test("a log with a hole, an entry twice, a falling epoch, a second end or a message twice is found", async () => {
  const { task } = await goodRun();
  const { entries } = task;
  const last = at(entries, -1);
  const check = (changed: readonly Entry[]): string[] => kinds(checkLog("t", changed, { rewound: true }));
  assert.deepEqual(check(entries), []);
  assert.deepEqual(check(without(entries, 3)), ["lost"]);
  assert.deepEqual(check(entries.with(3, copy(at(entries, 3), { mark: at(entries, 2).mark }))), ["doubled"]);
  assert.deepEqual(check(entries.with(3, copy(at(entries, 3), { epoch: 0 }))), ["broken"]);
  assert.deepEqual(check([...entries, copy(last, { offset: last.offset + 1, mark: "00000000" })]), ["broken"]);
  const start = entries.find(({ kind }) => kind === "command") as Entry;
  const again = copy(start, { offset: last.offset + 1, mark: "00000000", epoch: last.epoch });
  assert.deepEqual(check([...entries, again]), ["broken", "doubled"]);
});

test("the agent's own numbers tell what is missing, doubled or out of order although the log is whole", async () => {
  const { task } = await goodRun();
  const numbered = task.entries.filter((entry) => entry.kind === "event" && entry.event.payload.case === "artifactUpdate");
  const place = (list: readonly Entry[]): Entry[] => list.map((entry, index) => copy(entry, { offset: index + 1, mark: `${index}` }));
  const check = (list: readonly Entry[]): string[] => kinds(checkLog("t", place(list), strict));
  assert.deepEqual(check(numbered.slice(0, 3)), []);
  assert.deepEqual(check(without(numbered.slice(0, 3), 1)), ["lost"]);
  assert.deepEqual(check([...numbered.slice(0, 3), at(numbered, 1)]), ["doubled"]);
  assert.deepEqual(check([at(numbered, 0), at(numbered, 2), at(numbered, 1)]), ["lost", "reordered"]);
});

test("a task that nobody brings to rest, and a message that no turn was given, are forgotten", async () => {
  const good = await goodRun();
  const { task } = good;
  const half = cut(task, 5);
  assert.deepEqual(judge(good, { tasks: [half], followers: [] }), ["forgotten"]);
  assert.deepEqual(judge(good, { tasks: [{ ...half, custody: "waiting" }], followers: [] }), ["forgotten"]);
  const asked = task.entries.findIndex((entry) => entry.kind === "command" && entry.command.kind.case === "followUp");
  const resting = { ...cut(task, asked - 1), ledger: undefined };
  assert.equal(resting.task?.status?.state, TaskState.INPUT_REQUIRED);
  const ungiven = { ...resting, given: new Set<string>() };
  assert.deepEqual(judge(good, { tasks: [ungiven], followers: [], losses }), ["forgotten"]);
});

test("what was acknowledged and is gone is lost: a task, a follow-up, a cancel, a row of the list", async () => {
  const good = await goodRun();
  const { task } = good;
  const ledger = task.ledger as NonNullable<TaskEnd["ledger"]>;
  const runs: Partial<RunEnd>[] = [
    { tasks: [{ ...task, entries: [], task: undefined }], followers: [] },
    { tasks: [{ ...task, task: undefined }], followers: [] },
    { tasks: [{ ...task, ledger: { ...ledger, followUps: [{ messageId: "m3", tries: 1, outcome: "accepted" }] } }] },
    { tasks: [{ ...task, ledger: { ...ledger, canceled: true } }] },
    { listed: [] },
    { missing: new Set([task.taskId]) },
  ];
  for (const [index, changed] of runs.entries()) assert.deepEqual(judge(good, changed), ["lost"], `${index}`);
  // A store that may lose it is told so.
  const { found, allowed } = checkRun({ ...good.run, losses, missing: new Set([task.taskId]) });
  assert.deepEqual([found, allowed.length], [[], 1]);
});

test("two tasks for one message, and a task that nobody was told of, are doubled", async () => {
  const good = await goodRun();
  assert.deepEqual(judge(good, { twice: [{ taskId: good.task.taskId, what: "" }] }), ["doubled"]);
  assert.deepEqual(judge(good, { tasks: [{ ...good.task, ledger: undefined }] }), ["doubled"]);
});

test("a final task that is not the fold of its log, an odd answer and a replica that fell over break a promise", async () => {
  const good = await goodRun();
  const { task } = good;
  const wrong = { ...(task.task as NonNullable<TaskEnd["task"]>), artifacts: [] };
  assert.deepEqual(judge(good, { tasks: [{ ...task, task: wrong }] }), ["broken"]);
  assert.deepEqual(judge(good, { odd: [{ taskId: "", what: "INTERNAL" }] }), ["broken"]);
  assert.deepEqual(judge(good, { replicas: ["replica-1 ended by itself"] }), ["broken"]);
});

test("a stream that stays open and silent while the log goes on hangs", async () => {
  const { task, follower } = await goodRun();
  const opened = at(task.entries, 0).time - 1;
  const visit = { ...at(follower.visits, 0), opened, closed: at(task.entries, -1).time + HANG_MS };
  const half = { ...follower, frames: follower.frames.slice(0, 3), visits: [visit] };
  assert.equal(measure([half], () => task.entries).hangs.length, 1);
  assert.equal(measure([{ ...half, visits: [{ ...visit, closed: visit.closed - 1000 - HANG_MS }] }], () => task.entries).hangs.length, 0);
  assert.equal(measure([{ ...half, frames: [] }], () => task.entries).hangs.length, 1);
});

test("a plan is the same for the same seed, another for another, and has every kind", () => {
  const plan = (seed: string) => [...planFaults(new Random(seed), ["kill", "drain", "redis killed"], 2000).take(30)];
  assert.deepEqual(plan("1"), plan("1"));
  assert.notDeepEqual(plan("1"), plan("2"));
  assert.equal(new Set(plan("1").map(({ kind }) => kind)).size, 3);
  assert.ok(plan("1").every(({ at: when }, index, all) => when >= (all[index - 1]?.at ?? 0)));
});

function follow({ entries }: TaskEnd, follower: Followed, changed: Partial<Followed>): readonly Finding[] {
  return checkFollower({ ...follower, ...changed }, entries, whole).found;
}

function judge({ run }: GoodRun, changed: Partial<RunEnd>): string[] {
  return kinds(checkRun({ ...run, ...changed }).found);
}

function without<T>(list: readonly T[], index: number): T[] {
  return list.toSpliced(index, 1);
}

function copy(entry: Entry, changed: Partial<Pick<Entry, "offset" | "mark" | "epoch">>): Entry {
  const { offset = entry.offset, mark = entry.mark, epoch = entry.epoch } = changed;
  return new Entry({ offset, epoch, time: entry.time }, { kind: entry.kind, mark, bytes: entry.bytes });
}

/** The task when its log had so many entries. */
function cut(task: TaskEnd, length: number): TaskEnd {
  const entries = task.entries.slice(0, length);
  return { ...task, entries, task: foldOf(entries).task, ledger: { ...(task.ledger as NonNullable<TaskEnd["ledger"]>), followUps: [] } };
}

/** The frame with which a visit begins that asks for the task at this place; `says`: what it shows is the task at another. */
function snapshot({ entries }: TaskEnd, offset: number, visit: number, says = offset): SeenFrame {
  const { mark, time } = at(entries, offset - 1);
  const response = create(StreamResponseSchema, { payload: { case: "task", value: foldOf(entries.slice(0, says)).task } });
  return { response, position: { offset, mark }, visit, at: time + 1 };
}

function foldOf(entries: readonly Entry[]): Fold {
  const fold = new Fold(1000);
  for (const entry of entries) fold.add(entry);
  return fold;
}
