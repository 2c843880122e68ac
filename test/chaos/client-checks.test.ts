/** The check of what clients showed their users finds what was planted for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clone } from "@bufbuild/protobuf";
import { type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { checkClientRun } from "./check-client-run.ts";
import type { TaskEnd } from "./check-run.ts";
import type { ClientRunEnd } from "./client-run.ts";
import { foldUpTo } from "./folds.ts";
import type { SeenFrame } from "./follower.ts";
import { goodRun } from "./good-run.ts";

interface Ground {
  readonly task: TaskEnd;
  /** A run that saw all. */
  readonly run: ClientRunEnd;
}

async function ground(): Promise<Ground> {
  const { task, follower } = await goodRun();
  const run = { ...follower, what: "send", reads: [], rest: task.task, incomplete: [], failure: undefined };
  return { task, run };
}

function judge({ task, run }: Ground, changed: Partial<ClientRunEnd>): string[] {
  return [...new Set(checkClientRun({ ...run, ...changed }, task.entries).map(({ kind }) => kind))];
}

function edited(task: Task | undefined, change: (copy: Task) => void): Task {
  const copy = clone(TaskSchema, task as Task);
  change(copy);
  return copy;
}

/** The run up to the question that the task asks. */
function asked({ task, run }: Ground): Partial<ClientRunEnd> & { frames: readonly SeenFrame[] } {
  const end = run.frames.findIndex(
    ({ response: { payload } }) => payload.case === "statusUpdate" && payload.value.status?.state === TaskState.INPUT_REQUIRED,
  );
  const frames = run.frames.slice(0, end + 1);
  return { frames, rest: foldUpTo(task.entries, frames.at(-1)?.position.offset ?? 0) };
}

test("a run that showed every event and answered the exact task is found so, whether it ended with the task or at its question", async () => {
  const it = await ground();
  assert.deepEqual(judge(it, {}), []);
  assert.deepEqual(judge(it, asked(it)), []);
});

test("an event that is missing is lost, one that came twice is doubled, two that changed places are reordered", async () => {
  const it = await ground();
  const { frames } = it.run;
  assert.deepEqual(judge(it, { frames: frames.toSpliced(2, 1) }), ["lost"]);
  assert.deepEqual(judge(it, { frames: frames.toSpliced(3, 0, frames[2] as SeenFrame) }), ["doubled"]);
  assert.ok(judge(it, { frames: frames.with(2, frames[3] as SeenFrame).with(3, frames[2] as SeenFrame) }).includes("reordered"));
});

test("an answer with a part too few, or one too many, or that is not at rest, is not the task", async () => {
  const it = await ground();
  const { rest } = it.run;
  assert.deepEqual(judge(it, { rest: edited(rest, ({ artifacts }) => artifacts[0]?.parts.pop()) }), ["broken"]);
  assert.deepEqual(judge(it, { rest: edited(rest, ({ artifacts }) => artifacts[0]?.parts.push(...artifacts[0].parts)) }), ["broken"]);
  const { frames } = asked(it);
  const early = frames.slice(0, -1);
  assert.deepEqual(judge(it, { frames: early, rest: foldUpTo(it.task.entries, early.at(-1)?.position.offset ?? 0) }), ["broken"]);
});

test("a task that was read in between is one that the log made, and none older than what was known", async () => {
  const it = await ground();
  const { entries, task } = it.task;
  const at = (offset: number): Task => foldUpTo(entries, offset);
  const polled = (...reads: readonly Task[]): Partial<ClientRunEnd> => ({
    frames: it.run.frames.slice(0, 1),
    reads: reads.map((one) => ({ task: one, after: 1 })),
  });
  assert.deepEqual(judge(it, polled(at(4), at(5), task as Task)), []);
  assert.deepEqual(judge(it, polled(at(5), at(4), task as Task)), ["broken"]);
  const never = edited(at(6), ({ artifacts }) => artifacts.shift());
  assert.deepEqual(judge(it, polled(never, task as Task)), ["broken"]);
});

test("a run that failed, or says that something may be missing, has lost something; one that never ended is forgotten", async () => {
  const it = await ground();
  assert.deepEqual(judge(it, { rest: undefined, failure: "UnknownOutcomeError: the work may have run" }), ["lost"]);
  assert.deepEqual(judge(it, { incomplete: ["a"] }), ["lost"]);
  assert.deepEqual(judge(it, { rest: undefined }), ["forgotten"]);
});
