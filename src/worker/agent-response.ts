/** What an agent yields, made whole and checked before it may enter the log. */
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Message,
  type Part,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
  TaskState,
  TaskStateSchema,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../core/errors.ts";
import type { AgentEvent } from "../core/events.ts";
import { MemoSchema } from "../../gen/throughline/v1/log_pb.ts";
import { detached } from "./detached.ts";
import { uuidv7 } from "../core/uuid.ts";

/** Where the event goes. */
export interface EventPlace {
  readonly taskId: string;
  readonly contextId: string;
  /** The status timestamp, if it is a status. */
  readonly now: number;
}

/** The event as it will be stored: ids, role, message id and timestamp filled in. Throws INVALID_AGENT_RESPONSE. */
export function completeEvent(event: AgentEvent, place: EventPlace): StreamResponse {
  switch (event?.case) {
    case "statusUpdate":
      return wrap({ case: "statusUpdate", value: completeStatus(detached(TaskStatusUpdateEventSchema, event.value), place) });
    case "artifactUpdate":
      return wrap({ case: "artifactUpdate", value: completeArtifact(detached(TaskArtifactUpdateEventSchema, event.value), place) });
    default:
      throw invalid("an agent yields statusUpdate or artifactUpdate events");
  }
}

/** Largest encoded memo. */
const MEMO_BYTES = 64 * 1024;

/** A memo as it will be stored. Throws INVALID_AGENT_RESPONSE. */
export function completeMemo(value: JsonObject): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid("a memo is a JSON object");
  const memo = detached(MemoSchema, { value });
  if (toBinary(MemoSchema, memo).length > MEMO_BYTES) throw invalid(`a memo is at most ${MEMO_BYTES} bytes`);
  return memo.value ?? {};
}

/** A status event made by the worker itself. */
export function statusEvent(state: TaskState, text: string | undefined, place: EventPlace): StreamResponse {
  const message = text === undefined ? undefined : { parts: [{ content: { case: "text" as const, value: text } }] };
  return completeEvent({ case: "statusUpdate", value: { status: { state, ...(message && { message }) } } }, place);
}

/** `append: true` on an artifact that the task does not have goes out as its first chunk (C-31). */
export function announceArtifact(event: StreamResponse, task: Task, announced: ReadonlySet<string>): void {
  if (event.payload.case !== "artifactUpdate" || !event.payload.value.append) return;
  const id = event.payload.value.artifact?.artifactId ?? "";
  if (!announced.has(id) && !task.artifacts.some(({ artifactId }) => artifactId === id)) event.payload.value.append = false;
}

/** Checks a Message that an agent answers with and makes it whole. Throws INVALID_AGENT_RESPONSE. */
export function completeMessage(message: Message, contextId: string, taskId: string): Message {
  if (message.contextId !== "" && message.contextId !== contextId) throw invalid("message.contextId is another context's");
  if (message.taskId !== "" && message.taskId !== taskId) throw invalid("message.taskId is another task's");
  if (message.role === Role.USER) throw invalid("message.role of an agent is ROLE_AGENT");
  checkParts(message.parts, "message.parts");
  message.contextId = contextId;
  message.taskId = taskId;
  message.role = Role.AGENT;
  if (message.messageId === "") message.messageId = uuidv7(Date.now());
  return message;
}

function wrap(payload: StreamResponse["payload"]): StreamResponse {
  const event = create(StreamResponseSchema);
  event.payload = payload;
  return event;
}

function completeStatus(update: TaskStatusUpdateEvent, place: EventPlace): TaskStatusUpdateEvent {
  placeEvent(update, place);
  const { status } = update;
  if (status === undefined) throw invalid("statusUpdate.status is required");
  if (TaskStateSchema.value[status.state] === undefined || status.state === TaskState.UNSPECIFIED)
    throw invalid("statusUpdate.status.state is no state");
  if (status.state === TaskState.SUBMITTED) throw invalid("statusUpdate.status.state: a task is SUBMITTED once, by the server");
  if (status.message !== undefined) completeMessage(status.message, place.contextId, place.taskId);
  status.timestamp = timestampFromMs(place.now);
  return update;
}

function completeArtifact(update: TaskArtifactUpdateEvent, place: EventPlace): TaskArtifactUpdateEvent {
  placeEvent(update, place);
  const { artifact } = update;
  if (artifact === undefined) throw invalid("artifactUpdate.artifact is required");
  if (artifact.artifactId === "") throw invalid("artifactUpdate.artifact.artifactId is required");
  checkParts(artifact.parts, "artifactUpdate.artifact.parts");
  return update;
}

function placeEvent(update: { taskId: string; contextId: string }, { taskId, contextId }: EventPlace): void {
  if (update.taskId !== "" && update.taskId !== taskId) throw invalid("taskId is another task's");
  if (update.contextId !== "" && update.contextId !== contextId) throw invalid("contextId is another context's");
  update.taskId = taskId;
  update.contextId = contextId;
}

function checkParts(parts: readonly Part[], where: string): void {
  if (parts.length === 0) throw invalid(`${where} needs at least one part`);
  const empty = parts.findIndex(({ content }) => content.case === undefined);
  if (empty >= 0) throw invalid(`${where}[${empty}] needs one of text, raw, url, data`);
}

function invalid(what: string): TaskError {
  return new TaskError("INVALID_AGENT_RESPONSE", what);
}
