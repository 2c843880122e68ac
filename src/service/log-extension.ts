/**
 * Our extension `urn:throughline:a2a:log:v1`: every frame of a stream says its position, and a reader that comes back with one misses
 * nothing and sees nothing twice (docs/architecture.md). Off unless the request activates it.
 */
import { create, type JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type StreamResponse, StreamResponseSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { invalidArgument } from "../core/errors.ts";
import type { Frame } from "../core/follow.ts";
import type { Position } from "../core/log-entry.ts";
import { formatPosition, parsePosition } from "../core/log-entry.ts";
import { extensionsKey } from "../rpc/call-facts.ts";
import { share, sharedForm } from "../rpc/wire-cache.ts";

/** URI of the extension; the key of the position in a frame's metadata. */
export const LOG_URI = "urn:throughline:a2a:log:v1";

/** Header, and gRPC metadata key, with which a reader comes back. */
const LAST_EVENT_ID = "last-event-id";

/** Where a reader wants to go on. */
export interface Resume {
  readonly taskId: string;
  readonly position: Position;
}

/** Whether the call has activated the extension. */
export function logActive(context: HandlerContext): boolean {
  return context.values.get(extensionsKey).has(LOG_URI);
}

/** Where the call wants to go on; undefined where it does not say, or has not activated the extension. Throws INVALID_ARGUMENT. */
export function resumeOf(context: HandlerContext): Resume | undefined {
  if (!logActive(context)) return undefined;
  const given = context.requestHeader.get(LAST_EVENT_ID)?.trim();
  if (given === undefined || given === "") return undefined;
  const slash = given.lastIndexOf("/");
  const position = parsePosition(given.slice(slash + 1));
  if (slash < 1 || position === undefined) throw badResume("is not <taskId>/<offset>.<mark>: send the id of the last event as it came");
  return { taskId: given.slice(0, slash), position };
}

/** The error for a position that does not fit the call. */
export function badResume(description: string): Error {
  return invalidArgument({ field: "Last-Event-ID", description });
}

/** A frame with its position, made once for all who read it. */
export function positionedFrame(frame: Frame): StreamResponse {
  if (frame.is === "event") return sharedForm(frame.entry.event, "positioned", (event) => positionedEvent(event, frame.entry));
  return sharedForm(frame.snapshot.task, "positioned", (task) => positionedTask(task, frame.snapshot.position));
}

function positionedEvent(event: StreamResponse, position: Position): StreamResponse {
  const { payload } = event;
  if (payload.case !== "statusUpdate" && payload.case !== "artifactUpdate") {
    return payload.case === "task" ? positionedTask(payload.value, position) : event;
  }
  const value = { ...payload.value, metadata: withPosition(payload.value.metadata, position) };
  const frame = create(StreamResponseSchema);
  frame.payload = { case: payload.case, value } as StreamResponse["payload"];
  return share(frame, undefined, `${payload.value.taskId}/${formatPosition(position)}`);
}

function positionedTask(task: Task, position: Position): StreamResponse {
  const value = { ...task, metadata: withPosition(task.metadata, position) };
  const frame = create(StreamResponseSchema, { payload: { case: "task", value } });
  return share(frame, undefined, `${task.id}/${formatPosition(position)}`);
}

function withPosition(metadata: JsonObject | undefined, position: Position): JsonObject {
  return { ...metadata, [LOG_URI]: { position: formatPosition(position) } };
}
