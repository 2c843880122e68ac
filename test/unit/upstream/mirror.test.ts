/** Folding the front's events gives the upstream's task, whatever of the upstream's events has come, and however often. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, fromBinary, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentEvent } from "../../../src/core/events.ts";
import { apply, copyTask } from "../../../src/core/task.ts";
import { Mirror } from "../../../src/upstream/mirror.ts";
import { announceArtifact, completeEvent } from "../../../src/worker/agent-response.ts";

const OURS = { taskId: "ours", contextId: "our-context", now: 1_700_000_000_000 };

/** Our end: a log that is folded as the worker does, and a mirror that may be made anew from it. */
class Front {
  task: Task = create(TaskSchema, { id: OURS.taskId, contextId: OURS.contextId, status: { state: TaskState.SUBMITTED } });
  mirror: Mirror = new Mirror(this.task);
  readonly events: StreamResponse[] = [];

  take(event: StreamResponse): void {
    this.#append(this.mirror.take(copyOf(event).payload));
  }

  reconcile(whole: Task): void {
    this.#append(this.mirror.reconcile(fromBinary(TaskSchema, toBinary(TaskSchema, whole))));
  }

  /** Another replica takes over. */
  takeOver(): void {
    this.mirror = new Mirror(this.task);
  }

  #append(yielded: Iterable<AgentEvent>): void {
    for (const one of yielded) {
      const event = completeEvent(one, OURS);
      announceArtifact(event, this.task, new Set());
      this.events.push(event);
      this.task = apply(this.task, copyOf(event)).task;
    }
  }
}

function copyOf(event: StreamResponse): StreamResponse {
  return fromBinary(StreamResponseSchema, toBinary(StreamResponseSchema, event));
}

type Payload = Exclude<MessageInitShape<typeof StreamResponseSchema>["payload"], undefined>;

function eventOf(payload: Payload): StreamResponse {
  return create(StreamResponseSchema, { payload });
}

function statusOf(state: TaskState, message?: MessageInitShape<typeof MessageSchema>): StreamResponse {
  return eventOf({ case: "statusUpdate", value: { taskId: "theirs", contextId: "c", status: { state, ...(message && { message }) } } });
}

function says(messageId: string, text: string): MessageInitShape<typeof MessageSchema> {
  return { messageId, role: Role.AGENT, taskId: "theirs", contextId: "c", parts: [{ content: { case: "text", value: text } }] };
}

function chunkOf(artifactId: string, texts: readonly string[], more: { append?: boolean; lastChunk?: boolean } = {}): StreamResponse {
  const parts = texts.map((value) => ({ content: { case: "text" as const, value } }));
  return eventOf({ case: "artifactUpdate", value: { taskId: "theirs", contextId: "c", artifact: { artifactId, parts }, ...more } });
}

/** The upstream's task after each of its events. */
function folds(log: readonly StreamResponse[]): Task[] {
  let task = create(TaskSchema, { id: "theirs", contextId: "c", status: { state: TaskState.SUBMITTED } });
  return log.map((one) => {
    task = apply(copyTask(task), copyOf(one)).task;
    return copyTask(task);
  });
}

function snapshot(task: Task): StreamResponse {
  return eventOf({ case: "task", value: task });
}

function agentTexts({ history, status }: Task): string[] {
  const said: Message[] = [
    ...history.filter(({ role }) => role === Role.AGENT),
    ...(status?.message === undefined ? [] : [status.message]),
  ];
  return said.map(({ parts }) => parts.map((part) => JSON.stringify(toJson(PartSchema, part))).join());
}

function shown(artifact: Artifact): unknown {
  return toJson(ArtifactSchema, artifact);
}

/** An artifact with neighbouring texts that differ in nothing else as one. */
function joined(artifact: Artifact): Artifact {
  const parts: Part[] = [];
  for (const part of artifact.parts) {
    const last = parts.at(-1);
    if (last?.content.case === "text" && part.content.case === "text" && part.metadata === undefined && last.metadata === undefined)
      parts[parts.length - 1] = { ...last, content: { case: "text", value: last.content.value + part.content.value } };
    else parts.push(part);
  }
  return { ...artifact, parts };
}

function hasContent({ parts }: { readonly parts: readonly object[] }): boolean {
  return parts.some((one) => "content" in one);
}

interface Delivery {
  /** How many events come after the snapshot that it begins with. */
  readonly takes: number;
  /** How many are lost after that. */
  readonly loses: number;
  readonly repeatsSnapshot: boolean;
  readonly takeOver: boolean;
}

const part = fc.oneof(
  { weight: 4, arbitrary: fc.string({ minLength: 1, maxLength: 3 }).map((value) => ({ content: { case: "text" as const, value } })) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 2 }).map((value) => ({ content: { case: "raw" as const, value } })) },
  { weight: 1, arbitrary: fc.constant({ content: { case: "url" as const, value: "https://example.com/" }, metadata: { k: 1 } }) },
  { weight: 1, arbitrary: fc.constant({}) },
);
const chunk = fc
  .record({
    artifactId: fc.constantFrom("a", "b"),
    name: fc.constantFrom("", "n1"),
    parts: fc.array(part, { maxLength: 3 }),
    append: fc.boolean(),
    lastChunk: fc.boolean(),
  })
  .map(({ append, lastChunk, ...artifact }) =>
    // Nothing can be said of an artifact that is emptied.
    eventOf({
      case: "artifactUpdate",
      value: { taskId: "theirs", contextId: "c", artifact, append: append || !hasContent(artifact), lastChunk },
    }),
  );
const status = fc.record({
  state: fc.constantFrom(TaskState.WORKING, TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED, TaskState.SUBMITTED),
  said: fc.constantFrom("id", "no id", "none"),
});

/** An upstream's log; every message says something else, and so does its end. */
const log = fc.array(fc.oneof(chunk, status), { maxLength: 14 }).map((steps) =>
  [...steps, { state: TaskState.COMPLETED, said: "id" }].map((step, index) => {
    if ("$typeName" in step) return step;
    const id = step.said === "id" ? `m${index % 3}` : "";
    return statusOf(step.state, step.said === "none" || step.state === TaskState.SUBMITTED ? undefined : says(id, `said ${index}`));
  }),
);
const deliveries = fc.array(fc.record({ takes: fc.nat(5), loses: fc.nat(3), repeatsSnapshot: fc.boolean(), takeOver: fc.boolean() }), {
  maxLength: 6,
}) as fc.Arbitrary<readonly Delivery[]>;

/** Delivers the log in pieces, each after a snapshot, until it is through; then the task is told whole once more. */
function deliver(front: Front, upstream: readonly StreamResponse[], pieces: readonly Delivery[], told: (task: Task) => Task): Task {
  const tasks = folds(upstream);
  let at = 0;
  for (const { takes, loses, repeatsSnapshot, takeOver } of pieces) {
    if (takeOver) front.takeOver();
    const stands = tasks[at - 1];
    if (stands !== undefined) front.take(snapshot(told(stands)));
    if (stands !== undefined && repeatsSnapshot) front.take(snapshot(told(stands)));
    for (const one of upstream.slice(at, at + takes)) front.take(one);
    at = Math.min(at + takes + loses, upstream.length);
  }
  const whole = told(tasks.at(-1) as Task);
  front.reconcile(whole);
  return whole;
}

function withContent(artifact: Artifact): Artifact {
  return { ...artifact, parts: artifact.parts.filter(({ content }) => content.case !== undefined) };
}

suite("the mirror", () => {
  test("any log in any pieces, with gaps, repeated snapshots and takeovers, ends in the upstream's task", () => {
    fc.assert(
      fc.property(log, deliveries, (upstream, pieces) => {
        const front = new Front();
        const whole = deliver(front, upstream, pieces, copyTask);
        const theirs = whole.artifacts.map(withContent);
        // One that never had content cannot be told of.
        const known = theirs.filter(({ parts }) => parts.length > 0);
        for (const artifact of known) {
          const ours = front.task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId) as Artifact;
          assert.deepEqual(shown(ours), shown(artifact));
        }
        assert.equal(front.task.status?.state, TaskState.COMPLETED);
        assert.deepEqual(agentTexts(front.task).toSorted(), agentTexts(whole).toSorted());
      }),
      { numRuns: 1000 },
    );
  });

  test("an upstream that keeps as one text what it sent in pieces is told once", () => {
    fc.assert(
      fc.property(log, deliveries, (upstream, pieces) => {
        const front = new Front();
        const told = (task: Task): Task => Object.assign({}, task, { artifacts: task.artifacts.map((one) => joined(withContent(one))) });
        const whole = deliver(front, upstream, pieces, told);
        for (const artifact of whole.artifacts.filter(({ parts }) => parts.length > 0)) {
          const ours = front.task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId) as Artifact;
          assert.deepEqual(shown(joined(ours)), shown(artifact));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("a snapshot that tells nothing new makes no event", () => {
    fc.assert(
      fc.property(log, (upstream) => {
        const front = new Front();
        const tasks = folds(upstream);
        for (const [index, one] of upstream.slice(0, -1).entries()) {
          front.take(one);
          const before = front.events.length;
          const stands = tasks[index] as Task;
          front.take(snapshot({ ...stands, artifacts: stands.artifacts.map(withContent) }));
          // An artifact that was replaced by one without content: no event can say so.
          if (stands.artifacts.some(({ parts }) => withContent({ parts } as Artifact).parts.length === 0)) return;
          assert.equal(front.events.length, before, `after event ${index}`);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("an uncut log becomes the same log", () => {
    const upstream = [
      statusOf(TaskState.WORKING, says("m1", "on it")),
      chunkOf("a", ["one "]),
      chunkOf("a", ["two"], { append: true, lastChunk: true }),
      statusOf(TaskState.COMPLETED, says("m2", "done")),
    ];
    const front = new Front();
    for (const one of upstream) front.take(one);
    const kinds = front.events.map(({ payload }) => payload.case);
    assert.deepEqual(kinds, ["statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    const last = front.events[2]?.payload;
    assert.ok(last?.case === "artifactUpdate" && last.value.append && last.value.lastChunk);
  });

  test("a message in mid-stream is a status of a task that works, once", () => {
    const front = new Front();
    const said = eventOf({ case: "message", value: says("m1", "by the way") });
    front.take(statusOf(TaskState.WORKING));
    front.take(said);
    front.take(said);
    assert.deepEqual(agentTexts(front.task), [JSON.stringify({ text: "by the way" })]);
    assert.equal(front.events.length, 2);
  });

  test("a message of the history that was missed does not leave a task that waits working", () => {
    const front = new Front();
    front.take(statusOf(TaskState.AUTH_REQUIRED, says("m1", "log in")));
    const history = [create(MessageSchema, says("m0", "before")), create(MessageSchema, says("m1", "log in"))];
    const waits = { state: TaskState.AUTH_REQUIRED, message: create(MessageSchema, says("m2", "still")) };
    front.take(snapshot(create(TaskSchema, { id: "theirs", contextId: "c", history: history.slice(1), status: waits })));
    front.take(
      snapshot(
        create(TaskSchema, {
          id: "theirs",
          contextId: "c",
          history: [...history.slice(1), create(MessageSchema, says("m3", "x"))],
          status: waits,
        }),
      ),
    );
    assert.equal(front.task.status?.state, TaskState.AUTH_REQUIRED);
    assert.equal(front.mirror.state, TaskState.AUTH_REQUIRED);
  });

  test("an upstream task that begins anew takes the place of what the one before produced", () => {
    const front = new Front();
    front.take(chunkOf("a", ["old 1 "]));
    front.take(chunkOf("a", ["old 2"], { append: true }));
    front.mirror.beginAnew();
    front.take(chunkOf("a", ["new 1 "], { append: true }));
    front.take(chunkOf("a", ["new 2"], { append: true }));
    const [artifact] = front.task.artifacts;
    assert.deepEqual(
      artifact?.parts.map(({ content }) => content.value),
      ["new 1 ", "new 2"],
    );
  });

  test("an artifact that shrank is replaced", () => {
    const front = new Front();
    front.take(chunkOf("a", ["1", "2", "3"]));
    const [, , whole] = folds([chunkOf("a", ["1", "2"]), statusOf(TaskState.WORKING), chunkOf("a", ["x"], { append: true })]);
    front.take(snapshot(whole as Task));
    assert.deepEqual(
      front.task.artifacts[0]?.parts.map(({ content }) => content.value),
      ["1", "2", "x"],
    );
  });

  test("what an agent says as a user, without an id, or without content harms nobody", () => {
    const front = new Front();
    front.take(statusOf(TaskState.WORKING, { ...says("", "x"), role: Role.USER }));
    front.take(statusOf(TaskState.WORKING, { messageId: "m", role: Role.AGENT, parts: [] }));
    front.take(chunkOf("a", []));
    const bare = { artifactId: "b", parts: [{}, { content: { case: "text" as const, value: "y" } }] };
    front.take(eventOf({ case: "artifactUpdate", value: { taskId: "theirs", contextId: "c", artifact: bare } }));
    assert.deepEqual(agentTexts(front.task), [JSON.stringify({ text: "x" })]);
    assert.deepEqual(
      front.task.artifacts.map(({ artifactId }) => artifactId),
      ["b"],
    );
  });

  test("a history that was cut to its limit is not said again", () => {
    const upstream = Array.from({ length: 30 }, (_, index) => statusOf(TaskState.WORKING, says(`m${index}`, `said ${index}`)));
    const front = new Front();
    for (const one of upstream) front.take(one);
    front.task = { ...front.task, history: front.task.history.slice(-5) };
    front.takeOver();
    const before = front.events.length;
    front.take(snapshot(folds(upstream).at(-1) as Task));
    assert.equal(front.events.length, before);
  });
});
