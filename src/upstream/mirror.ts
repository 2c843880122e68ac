/** What the log already holds of an upstream task, and what it lacks when the upstream tells the task anew. */
import { create, equals, toJson } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type AgentEvent, status as statusEvent, working } from "../core/events.ts";
import { apply, copyTask, isTerminal, stateOf } from "../core/task.ts";
import { ownMessage } from "./own-message.ts";

/** Makes events of an upstream task into those of ours: each part once, whatever the upstream repeats or leaves out. */
export class Mirror {
  #task: Task;
  readonly #said = new Set<string>();

  /** `task`: ours, as it stands in the log. */
  constructor(task: Task) {
    this.#task = copyTask(task);
    for (const message of task.history) this.#said.add(nameOf(message));
    if (task.status?.message !== undefined) this.#said.add(nameOf(task.status.message));
  }

  /** The state after all that was taken. */
  get state(): TaskState {
    return stateOf(this.#task);
  }

  /** It has ended by a word of the front's own. */
  end(): void {
    this.#task.status = create(TaskStatusSchema, { state: TaskState.COMPLETED });
  }

  /** An upstream event, as ours. */
  *take(event: StreamResponse["payload"]): Generator<AgentEvent> {
    switch (event.case) {
      case "task":
        yield* this.reconcile(event.value);
        break;
      case "statusUpdate":
        yield* this.#status(event.value.status, event.value.metadata);
        break;
      case "artifactUpdate":
        yield* this.#chunk(event.value);
        break;
      case "message":
        // Beside a task, a message is something that the agent says on the way.
        if (!this.#said.has(nameOf(event.value))) yield* this.#say(event.value);
        break;
      default:
    }
  }

  /** What our log lacks of an upstream task that is told whole: messages, then artifacts, then the status. */
  *reconcile(upstream: Task): Generator<AgentEvent> {
    for (const message of upstream.history) {
      if (message.role === Role.AGENT && !this.#said.has(nameOf(message))) yield* this.#say(message);
    }
    for (const artifact of upstream.artifacts) {
      const missing = missingOf(
        artifact,
        this.#task.artifacts.findLast(({ artifactId }) => artifactId === artifact.artifactId),
      );
      if (missing !== undefined) yield* this.#chunk(missing);
    }
    const { status } = upstream;
    const news = status?.message !== undefined && !this.#said.has(nameOf(status.message));
    if (status !== undefined && (news || status.state !== this.state)) yield* this.#status(status);
  }

  *#say(message: Message): Generator<AgentEvent> {
    this.#said.add(nameOf(message));
    yield working(ownMessage(message));
  }

  *#status(status: TaskStatus | undefined, metadata?: Task["metadata"]): Generator<AgentEvent> {
    if (status === undefined || isTerminal(this.state)) return;
    // A task is SUBMITTED once, and ours has been.
    if (status.state === TaskState.SUBMITTED || status.state === TaskState.UNSPECIFIED) return;
    if (status.message !== undefined) this.#said.add(nameOf(status.message));
    this.#task.status = status;
    const event = statusEvent(status.state, status.message && ownMessage(status.message));
    yield event.case === "statusUpdate" && metadata !== undefined ? { case: "statusUpdate", value: { ...event.value, metadata } } : event;
  }

  *#chunk(chunk: Chunk): Generator<AgentEvent> {
    const { artifact, append, lastChunk, metadata } = chunk;
    // Some agents say by a chunk without parts that the artifact is whole; a Task does not show it.
    if (artifact === undefined || artifact.parts.length === 0) return;
    const value = create(TaskArtifactUpdateEventSchema, { artifact, append, lastChunk, ...(metadata && { metadata }) });
    this.#task = apply(this.#task, create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } })).task;
    yield { case: "artifactUpdate", value };
  }
}

/** What counts of an artifact event. */
interface Chunk {
  readonly artifact?: Artifact | undefined;
  readonly append: boolean;
  readonly lastChunk: boolean;
  readonly metadata?: Task["metadata"];
}

/** Messages are told by their ids; those that have none, by what they say. */
function nameOf({ messageId, parts }: Message): string {
  return messageId === "" ? JSON.stringify(parts.map((part) => toJson(PartSchema, part))) : messageId;
}

/** The chunk that makes our artifact the upstream's: its further parts, or all of it where ours is no beginning of it. */
function missingOf(theirs: Artifact, ours: Artifact | undefined): Chunk | undefined {
  const whole = { artifact: theirs, append: false, lastChunk: false };
  if (ours === undefined) return whole;
  const rest = restOf(theirs.parts, ours.parts);
  if (rest === undefined) return whole;
  if (rest.length > 0) return { artifact: { ...theirs, parts: rest }, append: true, lastChunk: false };
  return equals(ArtifactSchema, { ...ours, parts: [] }, { ...theirs, parts: [] }) ? undefined : whole;
}

/** The parts after those that we have; undefined where ours are not their beginning. */
function restOf(theirs: readonly Part[], ours: readonly Part[]): Part[] | undefined {
  const common = ours.findIndex((part, index) => !samePart(part, theirs[index]));
  if (common < 0) return theirs.slice(ours.length);
  // An agent may keep as one text what it sent piece by piece.
  const [all, had] = [oneText(theirs), oneText(ours)];
  if (all === undefined || had === undefined || !all.text.startsWith(had.text) || all.like !== had.like) return undefined;
  const text = all.text.slice(had.text.length);
  return text === "" ? [] : [{ ...(theirs[0] as Part), content: { case: "text", value: text } }];
}

function samePart(ours: Part, theirs: Part | undefined): boolean {
  return theirs !== undefined && (ours === theirs || equals(PartSchema, ours, theirs));
}

/** Parts of text that differ in nothing else, as one. */
function oneText(parts: readonly Part[]): { readonly text: string; readonly like: string } | undefined {
  const texts = parts.map(({ content }) => (content.case === "text" ? content.value : undefined));
  const likes = new Set(parts.map(({ mediaType, filename, metadata }) => JSON.stringify([mediaType, filename, metadata])));
  const [like] = likes;
  return texts.includes(undefined) || likes.size !== 1 || like === undefined ? undefined : { text: texts.join(""), like };
}
