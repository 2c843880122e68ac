import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Artifact,
  type ArtifactSchema,
  MessageSchema,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { apply, applyMessage, copyTask } from "../../src/core/task.ts";

const part = (value: string) => ({ content: { case: "text" as const, value } });
const said = (value: string) => create(MessageSchema, { messageId: value, parts: [part(value)] });
const to = (state: TaskState, message?: string) =>
  create(StreamResponseSchema, {
    payload: {
      case: "statusUpdate",
      value: { taskId: "t", contextId: "c", status: { state, ...(message && { message: said(message) }) } },
    },
  });
const chunk = (artifact: MessageInitShape<typeof ArtifactSchema>, append?: boolean, lastChunk?: boolean) =>
  create(StreamResponseSchema, {
    payload: {
      case: "artifactUpdate",
      value: { artifact, ...(append !== undefined && { append }), ...(lastChunk !== undefined && { lastChunk }) },
    },
  });
const fresh = (): Task => create(TaskSchema, { id: "t", contextId: "c", status: { state: TaskState.SUBMITTED } });
const texts = (artifact: Artifact | undefined): unknown[] => (artifact?.parts ?? []).map(({ content }) => content.value);

test("a status message that is replaced moves to the end of the history", () => {
  let { task } = apply(fresh(), to(TaskState.WORKING, "one"));
  assert.deepEqual(task.history, []);
  ({ task } = apply(task, to(TaskState.WORKING, "two")));
  applyMessage(task, said("from the caller"));
  ({ task } = apply(task, to(TaskState.WORKING)));
  ({ task } = apply(task, to(TaskState.COMPLETED, "end")));
  assert.deepEqual(
    task.history.map(({ messageId }) => messageId),
    ["one", "from the caller", "two"],
  );
  assert.equal(task.status?.message?.messageId, "end");
});

test("R-171 a status never leaves a terminal state", () => {
  for (const state of [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED]) {
    let { task } = apply(fresh(), to(state, "end"));
    ({ task } = apply(task, to(TaskState.WORKING, "again")));
    assert.equal(task.status?.state, state);
    assert.deepEqual(task.history, []);
  }
});

test("R-091 C-31 append unset or false replaces the whole artifact; true adds parts and takes only what was sent", () => {
  let { task } = apply(
    fresh(),
    chunk({ artifactId: "a", name: "n", description: "d", metadata: { k: 1 }, extensions: ["x"], parts: [part("1")] }),
  );
  ({ task } = apply(task, chunk({ artifactId: "a", parts: [part("2")] }, true)));
  assert.deepEqual(texts(task.artifacts[0]), ["1", "2"]);
  const { name, description, metadata, extensions } = task.artifacts[0] ?? {};
  assert.deepEqual({ name, description, metadata, extensions }, { name: "n", description: "d", metadata: { k: 1 }, extensions: ["x"] });
  ({ task } = apply(task, chunk({ artifactId: "a", name: "m", metadata: { l: 2 }, extensions: ["y"], parts: [part("3")] }, true)));
  assert.equal(task.artifacts[0]?.name, "m");
  assert.equal(task.artifacts[0]?.description, "d");
  assert.deepEqual(task.artifacts[0]?.metadata, { l: 2 });
  assert.deepEqual(task.artifacts[0]?.extensions, ["y"]);
  ({ task } = apply(task, chunk({ artifactId: "b", parts: [part("b")] }, false)));
  ({ task } = apply(task, chunk({ artifactId: "a", parts: [part("4")] })));
  assert.deepEqual(texts(task.artifacts[0]), ["4"]);
  assert.equal(task.artifacts[0]?.name, "");
  assert.deepEqual(
    task.artifacts.map(({ artifactId }) => artifactId),
    ["a", "b"],
  );
});

test("the note tells what the reader should know of an artifact, and is not stored", () => {
  assert.equal(apply(fresh(), chunk({ artifactId: "a", parts: [part("1")] })).note, undefined);
  const incomplete = apply(fresh(), chunk({ artifactId: "a", parts: [part("1")] }, true));
  assert.deepEqual(incomplete.note, { artifactId: "a", is: "incomplete" });
  assert.deepEqual(texts(incomplete.task.artifacts[0]), ["1"]);
  const complete = apply(incomplete.task, chunk({ artifactId: "a", parts: [part("2")] }, true, true));
  assert.deepEqual(complete.note, { artifactId: "a", is: "complete" });
});

test("a task frame replaces everything; a message frame changes nothing", () => {
  const { task: before } = apply(fresh(), to(TaskState.WORKING, "one"));
  const whole = create(TaskSchema, { id: "t", contextId: "c", status: { state: TaskState.INPUT_REQUIRED } });
  const { task } = apply(before, create(StreamResponseSchema, { payload: { case: "task", value: whole } }));
  assert.deepEqual(task, whole);
  assert.notEqual(task, whole);
  const { task: same } = apply(task, create(StreamResponseSchema, { payload: { case: "message", value: said("hello") } }));
  assert.equal(same, task);
  assert.deepEqual(same, whole);
});

test("a reader that knows no task yet makes one of what it hears", () => {
  const { task } = apply(undefined, to(TaskState.WORKING));
  assert.deepEqual([task.id, task.contextId, task.status?.state], ["t", "c", TaskState.WORKING]);
});

test("a chunk costs the chunk: the task is changed in place, and a copy taken before is left alone", () => {
  const { task } = apply(fresh(), chunk({ artifactId: "a", parts: [part("1")] }));
  const copy = copyTask(task);
  const after = apply(task, chunk({ artifactId: "a", parts: [part("2")] }, true));
  assert.equal(after.task, task);
  assert.deepEqual(texts(copy.artifacts[0]), ["1"]);
});

test("an event that was folded in may be folded in elsewhere: it is not changed by later chunks", () => {
  const first = chunk({ artifactId: "a", parts: [part("1")] });
  const { task } = apply(fresh(), first);
  apply(task, chunk({ artifactId: "a", name: "late", parts: [part("2")] }, true));
  assert.ok(first.payload.case === "artifactUpdate");
  assert.deepEqual(texts(first.payload.value.artifact), ["1"]);
  assert.equal(first.payload.value.artifact?.name, "");
});

test("history keeps the latest messages", () => {
  const task = fresh();
  for (let count = 0; count < 10; count += 1) applyMessage(task, said(`${count}`), 3);
  assert.deepEqual(
    task.history.map(({ messageId }) => messageId),
    ["7", "8", "9"],
  );
});

test("a chunk finds its artifact among many: the last of its id, in copies too, and in lists that others have added to", () => {
  let { task } = apply(fresh(), chunk({ artifactId: "5", parts: [part("first of its id")] }));
  for (let count = 0; count < 100; count += 1) {
    // Some agents tell a task with two artifacts of one id.
    if (count === 50) task.artifacts.push({ ...(task.artifacts[3] as Artifact), parts: [] });
    if (count === 70) task = copyTask(task);
    ({ task } = apply(task, chunk({ artifactId: `${count}`, parts: [part(`${count}`)] })));
    ({ task } = apply(task, chunk({ artifactId: `${count >> 1}`, parts: [part("more")] }, true)));
  }
  ({ task } = apply(task, chunk({ artifactId: "99", parts: [part("anew")] })));
  const twice = task.artifacts.filter(({ artifactId }) => artifactId === "2");
  assert.deepEqual([task.artifacts.length, twice.map(({ parts }) => parts.length)], [101, [3, 0]]);
  assert.deepEqual(texts(task.artifacts.find(({ artifactId }) => artifactId === "5")), ["5", "more", "more"]);
  assert.deepEqual(texts(task.artifacts.at(-1)), ["anew"]);
  for (const { artifactId, parts } of task.artifacts.slice(60)) {
    const count = Number(artifactId);
    if (count < 50 && count > 5) assert.equal(parts.length, 3, artifactId);
  }
});
