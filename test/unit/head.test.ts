/** Heads of tasks: what a status change costs a store does not grow with the history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { headAfter } from "../../src/core/fold.ts";

const HEAD_BYTES = 32 * 1024;

function said(messageId: string, bytes: number): Message {
  const parts = [{ content: { case: "text" as const, value: "x".repeat(bytes) } }];
  return create(MessageSchema, { messageId, role: Role.USER, parts });
}

function taskWith(messages: readonly number[]): Task {
  const history = messages.map((bytes, index) => said(`${index}`, bytes));
  const metadata = { kept: "as it is" };
  return create(TaskSchema, { id: "task", contextId: "context", status: { state: TaskState.WORKING }, metadata, history });
}

const HISTORIES: Readonly<Record<string, readonly number[]>> = {
  "one message of 10 MiB": [10 * 1024 * 1024],
  "a large one before small ones": [10 * 1024 * 1024, 10, 10, 10],
  "a large one after small ones": [10, 10, 10, 10 * 1024 * 1024],
  "many that are too large together": Array.from({ length: 1000 }, () => 4000),
  "many small ones": Array.from({ length: 1000 }, () => 10),
};

for (const [what, messages] of Object.entries(HISTORIES)) {
  test(`a head is at most 32 kB, has the latest messages, and says how many there are: ${what}`, () => {
    const task = taskWith(messages);
    const { task: bytes, historyLength } = headAfter(task, []);
    assert.ok(bytes.length <= HEAD_BYTES, `${bytes.length} bytes`);
    assert.equal(historyLength, messages.length);
    const brief = fromBinary(TaskSchema, bytes);
    assert.deepEqual(brief.status, task.status);
    assert.deepEqual(brief.metadata, task.metadata);
    const kept = brief.history.length;
    assert.deepEqual(
      brief.history.map(({ messageId }) => messageId),
      task.history.slice(task.history.length - kept).map(({ messageId }) => messageId),
    );
  });
}

test("a head gives up no more than half of what fits, and nothing where all of it does", () => {
  const kept = (messages: readonly number[]): number => fromBinary(TaskSchema, headAfter(taskWith(messages), []).task).history.length;
  assert.equal(kept(HISTORIES["many small ones"] ?? []), 32);
  assert.ok(kept(HISTORIES["many that are too large together"] ?? []) >= 4);
  assert.equal(kept([10, 10, 10]), 3);
});
