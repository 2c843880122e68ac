/** Folding events into a Task: the one function that server and client share (requirements 5.4, C-31, C-35). */
import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskSchema,
  TaskState,
  type TaskStatus,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** COMPLETED, FAILED, CANCELED, REJECTED: nothing follows. */
export function isTerminal(state: TaskState): boolean {
  return state === TaskState.COMPLETED || state === TaskState.FAILED || state === TaskState.CANCELED || state === TaskState.REJECTED;
}

/** INPUT_REQUIRED, AUTH_REQUIRED: the caller's turn. */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** Terminal or interrupted: a blocking send returns here. */
export function isAtRest(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

/** The state of a task; UNSPECIFIED where a foreign server sent none. */
export function stateOf(task: Task): TaskState {
  return task.status?.state ?? TaskState.UNSPECIFIED;
}

/** The state that an event puts its task into; undefined where it changes none. */
export function stateAfter(event: StreamResponse): TaskState | undefined {
  if (event.payload.case === "statusUpdate") return event.payload.value.status?.state;
  if (event.payload.case === "task") return stateOf(event.payload.value);
  return undefined;
}

/** What an event told about one artifact. Never stored: it is the reader's knowledge, not the task's. */
export interface ArtifactNote {
  readonly artifactId: string;
  /** `complete`: its last chunk came. `incomplete`: a chunk was added to an artifact that was never announced (C-31). */
  readonly is: "complete" | "incomplete";
}

/** What {@link apply} answers. */
export interface Applied {
  readonly task: Task;
  readonly note: ArtifactNote | undefined;
}

/** How many messages `history` keeps where nothing else is said. */
export const HISTORY_LIMIT = 1000;

/**
 * Folds one event into a task. The task given is used up: go on with the one answered, which may be the same object changed in place,
 * so that adding a chunk costs the chunk and not the task. The event is not changed and may be shared; its parts become the task's.
 * A `task` event replaces everything; a status never leaves a terminal state; a status message that is replaced moves to the end of
 * `history`, which keeps the latest `historyLimit` messages; a `message` event changes nothing (C-36).
 */
export function apply(task: Task | undefined, event: StreamResponse, historyLimit: number = HISTORY_LIMIT): Applied {
  const { payload } = event;
  if (payload.case === "task") return { task: copyTask(payload.value), note: undefined };
  const base = task ?? create(TaskSchema);
  if (payload.case === "statusUpdate") {
    if (task === undefined) base.id = payload.value.taskId;
    if (base.contextId === "") base.contextId = payload.value.contextId;
    if (payload.value.status !== undefined) replaceStatus(base, payload.value.status, historyLimit);
  }
  if (payload.case === "artifactUpdate") {
    if (task === undefined) base.id = payload.value.taskId;
    if (base.contextId === "") base.contextId = payload.value.contextId;
    return { task: base, note: addArtifact(base, payload.value) };
  }
  return { task: base, note: undefined };
}

/** Folds a caller's follow-up message into `history`, in place. */
export function applyMessage(task: Task, message: Message, historyLimit: number = HISTORY_LIMIT): void {
  task.history.push(message);
  trimHistory(task.history, historyLimit);
}

/** A copy that later folding into the original leaves alone. Messages and parts are shared: nobody changes them. */
export function copyTask(task: Task): Task {
  return { ...task, artifacts: task.artifacts.map(copyArtifact), history: task.history.slice() };
}

function copyArtifact(artifact: Artifact): Artifact {
  return { ...artifact, parts: artifact.parts.slice() };
}

function replaceStatus(task: Task, status: TaskStatus, historyLimit: number): void {
  if (task.status !== undefined && isTerminal(task.status.state)) return;
  if (task.status?.message !== undefined) {
    task.history.push(task.status.message);
    trimHistory(task.history, historyLimit);
  }
  task.status = status;
}

function trimHistory(history: Message[], limit: number): void {
  if (history.length > limit) history.splice(0, history.length - limit);
}

/** Lists longer than this are not searched through for each chunk. */
const SHORT = 32;

/** Where artifacts stand in long lists, by their ids; of lists that have only grown by {@link addPlace} since. */
const places = new WeakMap<readonly Artifact[], { readonly byId: Map<string, number>; length: number }>();

/** Where the last artifact of an id stands; -1 where there is none. */
export function artifactPlace(artifacts: readonly Artifact[], id: string): number {
  if (artifacts.length <= SHORT) return artifacts.findLastIndex(({ artifactId }) => artifactId === id);
  let known = places.get(artifacts);
  if (known?.length !== artifacts.length) {
    known = { byId: new Map(artifacts.map(({ artifactId }, place) => [artifactId, place])), length: artifacts.length };
    places.set(artifacts, known);
  }
  return known.byId.get(id) ?? -1;
}

function addPlace(artifacts: readonly Artifact[], place: number): void {
  const known = places.get(artifacts);
  if (known?.length !== place) return;
  known.byId.set(artifacts[place]?.artifactId ?? "", place);
  known.length += 1;
}

function addArtifact(task: Task, { artifact, append, lastChunk }: TaskArtifactUpdateEvent): ArtifactNote | undefined {
  if (artifact === undefined) return undefined;
  const { artifactId } = artifact;
  const index = artifactPlace(task.artifacts, artifactId);
  const known = task.artifacts[index];
  if (known === undefined) addPlace(task.artifacts, task.artifacts.push(copyArtifact(artifact)) - 1);
  else if (append) extend(known, artifact);
  else task.artifacts[index] = copyArtifact(artifact);
  if (append && known === undefined) return { artifactId, is: "incomplete" };
  return lastChunk ? { artifactId, is: "complete" } : undefined;
}

function extend(known: Artifact, chunk: Artifact): void {
  for (const part of chunk.parts) known.parts.push(part);
  if (chunk.name !== "") known.name = chunk.name;
  if (chunk.description !== "") known.description = chunk.description;
  if (chunk.metadata !== undefined) known.metadata = chunk.metadata;
  if (chunk.extensions.length > 0) known.extensions = chunk.extensions.slice();
}
