/** Helpers that build what an agent yields. Ids, timestamps and message ids are filled in by the worker. */
import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type ArtifactSchema,
  type MessageSchema,
  type PartSchema,
  type TaskArtifactUpdateEventSchema,
  TaskState,
  type TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";

/**
 * One event of an agent, in the shape of StreamResponse's payload. `taskId` and `contextId` may be left out. A memo is no event of the
 * task: see {@link memo}.
 */
export type AgentEvent =
  | { readonly case: "statusUpdate"; readonly value: MessageInitShape<typeof TaskStatusUpdateEventSchema> }
  | { readonly case: "artifactUpdate"; readonly value: MessageInitShape<typeof TaskArtifactUpdateEventSchema> }
  | { readonly case: "memo"; readonly value: JsonObject };

/** A status message: a text, or a Message of which only `parts` is needed. */
export type StatusText = string | MessageInitShape<typeof MessageSchema>;

/** A part of an artifact or a message. */
export type PartInit = MessageInitShape<typeof PartSchema>;

/** A status change, with an optional message. */
export function status(state: TaskState, message?: StatusText): AgentEvent {
  const said = typeof message === "string" ? { parts: [textPart(message)] } : message;
  return { case: "statusUpdate", value: { status: said === undefined ? { state } : { state, message: said } } };
}

/** WORKING: progress. */
export const working = (message?: StatusText): AgentEvent => status(TaskState.WORKING, message);
/** COMPLETED: the task is done. */
export const completed = (message?: StatusText): AgentEvent => status(TaskState.COMPLETED, message);
/** FAILED: the task ended without its result. */
export const failed = (message?: StatusText): AgentEvent => status(TaskState.FAILED, message);
/** REJECTED: the agent will not do this task. */
export const rejected = (message?: StatusText): AgentEvent => status(TaskState.REJECTED, message);
/** CANCELED: the agent stopped because it was asked to. */
export const canceled = (message?: StatusText): AgentEvent => status(TaskState.CANCELED, message);
/** INPUT_REQUIRED: the caller is to answer with a message on this task. */
export const inputRequired = (message: StatusText): AgentEvent => status(TaskState.INPUT_REQUIRED, message);
/** AUTH_REQUIRED: an authorization is needed before the task goes on (R-178: say which). */
export const authRequired = (message: StatusText): AgentEvent => status(TaskState.AUTH_REQUIRED, message);

/** How an artifact chunk relates to what was sent before. */
export interface ChunkOptions {
  /** Add the parts to the artifact of the same id instead of replacing it. Default false. */
  readonly append?: boolean;
  /** The artifact is whole now. Default false. */
  readonly lastChunk?: boolean;
}

/** A whole artifact, or a chunk of one. */
export function artifact(value: MessageInitShape<typeof ArtifactSchema>, options: ChunkOptions = {}): AgentEvent {
  return { case: "artifactUpdate", value: { artifact: value, append: options.append ?? false, lastChunk: options.lastChunk ?? false } };
}

/**
 * A note for later runs of the agent's turns on this task, on whatever replica: `turn.memo` shows the last one. It lies in the log in the
 * order in which it was yielded, goes to no caller, and replaces the one before. At most 64 kB.
 */
export function memo(value: JsonObject): AgentEvent {
  return { case: "memo", value };
}

/** A part of text. */
export function textPart(text: string, mediaType = ""): PartInit {
  return { content: { case: "text", value: text }, mediaType };
}

/** A part of structured data: any JSON value. */
export function dataPart(data: JsonValue, mediaType = ""): PartInit {
  return { content: { case: "data", value: fromJson(ValueSchema, data) }, mediaType };
}

/** A part of bytes. */
export function bytesPart(raw: Uint8Array, filename = "", mediaType = ""): PartInit {
  return { content: { case: "raw", value: raw }, filename, mediaType };
}

/** A part that names where the content is. */
export function urlPart(url: string, filename = "", mediaType = ""): PartInit {
  return { content: { case: "url", value: url }, filename, mediaType };
}
