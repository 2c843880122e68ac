/** What the log already holds of an upstream task, and what it lacks when the upstream tells the task anew. */
import { create, equals } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskStatusUpdateEvent,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type AgentEvent, status as statusEvent, working } from "../core/events.ts";
import { apply, artifactPlace, copyTask, isTerminal, stateOf } from "../core/task.ts";
import { type Chunk, missingOf } from "./missing-chunk.ts";
import { ownMessage, ownParts } from "./own-message.ts";
import { Said, withContent } from "./said.ts";

/**
 * Makes events of an upstream task into those of ours: each part once, each message once, whatever the upstream repeats or leaves out. What
 * no event can say, an artifact or a message that is gone, stays.
 */
export class Mirror {
  #task: Task;
  readonly #said: Said;
  /** Artifacts of an earlier upstream task, until the present one tells of them. */
  readonly #outdated = new Set<string>();

  /** `task`: ours, as it stands in the log. */
  constructor(task: Task) {
    this.#task = copyTask(task);
    this.#said = new Said(task);
  }

  /** The state after all that was taken. */
  get state(): TaskState {
    return stateOf(this.#task);
  }

  /** It has got into this state by another's word: the server's on a message, or the front's own. */
  enter(state: TaskState): void {
    this.#task.status = create(TaskStatusSchema, { state });
  }

  /** The next events are those of another upstream task, which begins anew. */
  beginAnew(): void {
    for (const { artifactId } of this.#task.artifacts) this.#outdated.add(artifactId);
  }

  /** An upstream event, as ours. */
  *take(event: StreamResponse["payload"]): Generator<AgentEvent> {
    if (isTerminal(this.state)) return;
    switch (event.case) {
      case "task":
        yield* this.reconcile(event.value);
        break;
      case "statusUpdate":
        yield* this.#status(event.value.status, event.value.metadata);
        break;
      case "artifactUpdate":
        yield* this.#update(event.value);
        break;
      case "message":
        // Beside a task, a message is something that the agent says on the way.
        if (!this.#said.has(event.value)) yield* this.#say(event.value);
        break;
      default:
    }
  }

  /** What our log lacks of an upstream task that is told whole: messages, artifacts and, if it is wanted, the status. */
  *reconcile(upstream: Task, { status: withStatus = true }: { readonly status?: boolean } = {}): Generator<AgentEvent> {
    if (isTerminal(this.state)) return;
    for (const message of this.#unsaid(upstream.history)) yield* this.#say(message);
    const whole = isTerminal(stateOf(upstream));
    for (const theirs of upstream.artifacts) {
      this.#outdated.delete(theirs.artifactId);
      const missing = missingOf(theirs, this.#find(theirs.artifactId));
      if (missing !== undefined) yield* this.#chunk({ ...missing, lastChunk: whole });
    }
    const { status } = upstream;
    if (!withStatus || status === undefined) return;
    const { message, ...bare } = status;
    if (message !== undefined && !this.#said.has(message)) yield* this.#status(status);
    else if (status.state !== this.state) yield* this.#status(bare);
  }

  /** The event that ends the upstream task, after all else that our log lacks of it. */
  *end({ status, metadata }: TaskStatusUpdateEvent, whole: Task): Generator<AgentEvent> {
    if (status?.message !== undefined) this.#said.add(status.message);
    yield* this.reconcile(whole, { status: false });
    yield* this.#status(status, metadata);
  }

  /** What the agent has said that our log lacks. Of a history that was cut to its limit, what comes before its beginning was there once. */
  *#unsaid(history: readonly Message[]): Generator<Message> {
    const first = history.findIndex((message) => message.role === Role.AGENT && this.#said.has(message));
    for (const [index, message] of history.entries()) {
      if (index > first && message.role === Role.AGENT && !this.#said.has(message)) yield message;
    }
  }

  *#say(message: Message): Generator<AgentEvent> {
    const own = ownMessage(message);
    if (own === undefined) return;
    this.#said.add(message);
    this.enter(TaskState.WORKING);
    yield working(own);
  }

  *#status(status: TaskStatus | undefined, metadata?: Task["metadata"]): Generator<AgentEvent> {
    if (status === undefined) return;
    // A task is SUBMITTED once, and ours has been.
    if (status.state === TaskState.SUBMITTED || status.state === TaskState.UNSPECIFIED) return;
    if (status.message !== undefined) this.#said.add(status.message);
    this.enter(status.state);
    const event = statusEvent(status.state, status.message && ownMessage(status.message));
    yield event.case === "statusUpdate" && metadata !== undefined ? { case: "statusUpdate", value: { ...event.value, metadata } } : event;
  }

  *#update({ artifact, append, lastChunk, metadata }: TaskArtifactUpdateEvent): Generator<AgentEvent> {
    if (artifact === undefined) return;
    const begins = this.#outdated.delete(artifact.artifactId);
    yield* this.#chunk({ artifact, append: append && !begins, lastChunk, metadata });
  }

  *#chunk({ artifact: told, append, lastChunk = false, metadata }: Chunk): Generator<AgentEvent> {
    const parts = withContent(told.parts);
    const artifact = parts === told.parts ? told : { ...told, parts: [...parts] };
    const known = this.#find(artifact.artifactId);
    const adds = append && known !== undefined && known.parts.length > 0;
    if (parts.length === 0) {
      yield* this.#bare(artifact, { lastChunk, metadata });
      return;
    }
    this.#fold(artifact, append);
    // What had no part yet is told with its first one: an event without parts is none.
    const whole = adds ? artifact : this.#find(artifact.artifactId);
    if (whole !== undefined) yield chunkEvent(whole, { append: adds, lastChunk, metadata });
  }

  /** Some agents say by a chunk without parts that the artifact is whole: that takes nothing away. What else it says of it is told. */
  *#bare(artifact: Artifact, about: Pick<Chunk, "lastChunk" | "metadata">): Generator<AgentEvent> {
    const known = this.#find(artifact.artifactId);
    const before = known && { ...known, parts: [] };
    this.#fold(artifact, true);
    const now = this.#find(artifact.artifactId);
    if (before === undefined || now === undefined || now.parts.length === 0) return;
    if (!equals(ArtifactSchema, before, { ...now, parts: [] })) yield chunkEvent(now, { append: false, ...about });
  }

  #fold(artifact: Artifact, append: boolean): void {
    // Not by `create`: it would cost as much as all the rest.
    const value = { artifact, append } as TaskArtifactUpdateEvent;
    this.#task = apply(this.#task, { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value } }).task;
  }

  #find(id: string): Artifact | undefined {
    return this.#task.artifacts[artifactPlace(this.#task.artifacts, id)];
  }
}

/** An artifact event of ours. */
function chunkEvent(artifact: Artifact, { append, lastChunk = false, metadata }: Omit<Chunk, "artifact">): AgentEvent {
  const { artifactId, name, description, extensions, metadata: about } = artifact;
  const extra = { ...(extensions.length > 0 && { extensions }), ...(about && { metadata: about }) };
  const own = { artifactId, name, description, parts: ownParts(artifact.parts), ...extra };
  return { case: "artifactUpdate", value: { artifact: own, append, lastChunk, ...(metadata && { metadata }) } };
}
