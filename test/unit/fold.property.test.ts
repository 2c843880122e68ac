import assert from "node:assert/strict";
import { test } from "node:test";
import { create, equals, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import {
  ArtifactSchema,
  MessageSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CommandSchema } from "../../gen/throughline/v1/log_pb.ts";
import { Fold } from "../../src/core/fold.ts";
import { Entry, type NewEntry } from "../../src/core/log-entry.ts";
import { apply, applyMessage, copyTask } from "../../src/core/task.ts";
import { arbitraryMessage } from "./message-arbitrary.ts";

const RUNS = { numRuns: 400 };

/** What a log is made of. */
type Step = { readonly event: StreamResponse } | { readonly followUp: ReturnType<typeof create<typeof MessageSchema>> };

const artifactId = fc.constantFrom("a", "b", "c");
const state = fc.constantFrom(...Object.values(TaskState));
const message = arbitraryMessage(MessageSchema, 2);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(arbitraryMessage(ArtifactSchema, 2), artifactId, fc.boolean(), fc.boolean()).map(chunk) },
  { weight: 3, arbitrary: fc.tuple(state, fc.option(message, { nil: undefined })).map(statusUpdate) },
  { weight: 2, arbitrary: message.map((followUp) => ({ followUp })) },
  { weight: 1, arbitrary: message.map((value) => ({ event: create(StreamResponseSchema, { payload: { case: "message", value } }) })) },
);

const log = fc.tuple(arbitraryMessage(TaskSchema, 2), fc.array(step, { maxLength: 25 }));
const historyLimit = fc.integer({ min: 1, max: 6 });

test("a log folds to the same task however it is split into a checkpoint and a tail", () => {
  fc.assert(
    fc.property(log, historyLimit, fc.nat(26), fc.nat(26), ([first, steps], limit, cut, consumed) => {
      const entries = entriesOf(first, steps);
      const whole = folded(new Fold(limit), entries);
      const at = Math.min(cut + 1, entries.length);
      const prefix = folded(new Fold(limit), entries.slice(0, at));
      const restored = Fold.restore(prefix.checkpoint(consumed), limit);
      assert.deepEqual(restored.position, prefix.position);
      // What a new owner would need is kept: the command last given and all after it.
      const kept = prefix.commands.map(({ offset }) => offset).filter((offset) => offset >= consumed);
      assert.deepEqual(
        restored.commands.map(({ offset }) => offset),
        kept,
      );
      folded(restored, entries);
      assert.ok(equals(TaskSchema, restored.task, whole.task));
      assert.deepEqual(restored.position, whole.position);
    }),
    RUNS,
  );
});

test("a snapshot stays as it was, whatever is folded in after it, and no event is changed by being folded", () => {
  fc.assert(
    fc.property(log, historyLimit, fc.nat(26), ([first, steps], limit, cut) => {
      const entries = entriesOf(first, steps);
      const at = Math.min(cut + 1, entries.length);
      const fold = folded(new Fold(limit), entries.slice(0, at));
      const { task, position } = fold.snapshot();
      const before = toBinary(TaskSchema, task);
      folded(fold, entries);
      assert.deepEqual(toBinary(TaskSchema, task), before);
      assert.equal(position.offset, at);
      for (const entry of entries) {
        if (entry.kind === "event") assert.deepEqual([...toBinary(StreamResponseSchema, entry.event)], [...entry.bytes]);
      }
    }),
    RUNS,
  );
});

test("apply on its own, as a client uses it, comes to the same task as the fold", () => {
  fc.assert(
    fc.property(log, historyLimit, ([first, steps], limit) => {
      let task: Task = copyTask(first);
      for (const one of steps) {
        if ("event" in one) ({ task } = apply(task, one.event, limit));
        else applyMessage(task, one.followUp, limit);
      }
      assert.ok(equals(TaskSchema, task, folded(new Fold(limit), entriesOf(first, steps)).task));
    }),
    RUNS,
  );
});

test("a fold's running size is never below the encoded task", () => {
  fc.assert(
    fc.property(log, historyLimit, ([first, steps], limit) => {
      const fold = folded(new Fold(limit), entriesOf(first, steps));
      const bound = fold.bytes;
      assert.ok(fold.measure() <= bound);
    }),
    RUNS,
  );
});

test("R-171 a terminal state is never left, and history never grows beyond its limit by events", () => {
  fc.assert(
    fc.property(log, historyLimit, ([first, steps], limit) => {
      const fold = new Fold(limit);
      let ended: number | undefined;
      for (const entry of entriesOf(first, steps)) {
        fold.add(entry);
        const now = fold.task.status?.state;
        if (ended !== undefined) assert.equal(now, ended);
        if (now === TaskState.COMPLETED || now === TaskState.FAILED || now === TaskState.CANCELED || now === TaskState.REJECTED)
          ended = now;
        assert.ok(fold.task.history.length <= Math.max(limit, first.history.length));
      }
    }),
    RUNS,
  );
});

test("entries that were folded in already are passed over; a gap is an error", () => {
  const entries = entriesOf(create(TaskSchema), [chunk([create(ArtifactSchema), "a", true, false])]);
  const fold = folded(folded(new Fold(5), entries), entries);
  assert.equal(fold.task.artifacts.length, 1);
  assert.throws(() => folded(new Fold(5), entries.slice(1)), RangeError);
});

function chunk([init, id, append, lastChunk]: [ReturnType<typeof create<typeof ArtifactSchema>>, string, boolean, boolean]): Step {
  const value = { taskId: "t", artifact: { ...init, artifactId: id }, append, lastChunk };
  return { event: create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } }) };
}

function statusUpdate([to, said]: [TaskState, ReturnType<typeof create<typeof MessageSchema>> | undefined]): Step {
  const value = { taskId: "t", status: said === undefined ? { state: to } : { state: to, message: said } };
  return { event: create(StreamResponseSchema, { payload: { case: "statusUpdate", value } }) };
}

function entriesOf(first: Task, steps: readonly Step[]): Entry[] {
  const event = create(StreamResponseSchema, { payload: { case: "task", value: first } });
  return [{ event }, ...steps].map((one, index) => {
    const place = { offset: index + 1, epoch: 1, time: 0 };
    return new Entry(place, "event" in one ? eventEntry(one.event, index) : commandEntry(one.followUp, index));
  });
}

function eventEntry(event: StreamResponse, index: number): NewEntry {
  return { kind: "event", mark: mark(index), bytes: toBinary(StreamResponseSchema, event), content: event };
}

function commandEntry(followUp: ReturnType<typeof create<typeof MessageSchema>>, index: number): NewEntry {
  const content = create(CommandSchema, { kind: { case: "followUp", value: followUp } });
  return { kind: "command", mark: mark(index), bytes: toBinary(CommandSchema, content), content };
}

function mark(index: number): string {
  return index.toString(16).padStart(8, "0");
}

function folded(fold: Fold, entries: readonly Entry[]): Fold {
  for (const entry of entries) fold.add(entry);
  return fold;
}
