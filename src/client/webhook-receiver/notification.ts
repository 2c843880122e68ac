/** What a receiver hands on. */
import type { StreamResponse, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { stateAfter } from "../../core/task.ts";

/** One notification: authentic, stored, and new. A hint that something has happened; the task's record at its server decides. */
export interface Notification {
  /** Id of the configuration that it came for. */
  readonly webhookId: string;
  /** What it is known by: its event's id, or the digest of its body where the sender gives none. */
  readonly id: string;
  /** Empty for a message that names no task. */
  readonly taskId: string;
  readonly contextId: string;
  readonly event: StreamResponse;
  /** The state that it tells of; undefined for artifacts and messages. */
  readonly state: TaskState | undefined;
  /** In milliseconds since 1970. */
  readonly receivedAt: number;
}

/** Reads off an event which task it is about. */
export function notificationOf(event: StreamResponse, known: Pick<Notification, "webhookId" | "id" | "receivedAt">): Notification {
  return { ...known, ...idsOf(event), event, state: stateAfter(event) };
}

function idsOf({ payload }: StreamResponse): Pick<Notification, "taskId" | "contextId"> {
  if (payload.case === undefined) return { taskId: "", contextId: "" };
  if (payload.case === "task") return { taskId: payload.value.id, contextId: payload.value.contextId };
  return { taskId: payload.value.taskId, contextId: payload.value.contextId };
}
