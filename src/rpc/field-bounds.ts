/** What the value of a field must be beyond its type, in the words of JSON Schema: judged by the service, told to callers by OpenAPI. */

/** Bounds of one field. */
export interface FieldBounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
}

/** Longest id that a caller may choose. */
export const MAX_ID = 512;
/** Items of a page. */
export const PAGE_SIZE = { minimum: 1, maximum: 100, default: 50 } as const;

const name: FieldBounds = { minLength: 1, maxLength: MAX_ID };
const id: FieldBounds = { maxLength: MAX_ID };
const historyLength: FieldBounds = { minimum: 0 };
const parts: FieldBounds = { minItems: 1 };

const BOUNDS: Readonly<Record<string, FieldBounds>> = {
  "lf.a2a.v1.Message.message_id": { minLength: 1 },
  "lf.a2a.v1.Message.parts": parts,
  "lf.a2a.v1.Artifact.parts": parts,
  "lf.a2a.v1.SendMessageConfiguration.history_length": historyLength,
  "lf.a2a.v1.GetTaskRequest.id": name,
  "lf.a2a.v1.GetTaskRequest.history_length": historyLength,
  "lf.a2a.v1.ListTasksRequest.context_id": id,
  "lf.a2a.v1.ListTasksRequest.page_size": PAGE_SIZE,
  "lf.a2a.v1.ListTasksRequest.history_length": historyLength,
  "lf.a2a.v1.CancelTaskRequest.id": name,
  "lf.a2a.v1.SubscribeToTaskRequest.id": name,
  "lf.a2a.v1.TaskPushNotificationConfig.url": { minLength: 1 },
  "lf.a2a.v1.GetTaskPushNotificationConfigRequest.task_id": name,
  "lf.a2a.v1.GetTaskPushNotificationConfigRequest.id": name,
  "lf.a2a.v1.ListTaskPushNotificationConfigsRequest.task_id": name,
  // 0 stands for the default: the field has no presence.
  "lf.a2a.v1.ListTaskPushNotificationConfigsRequest.page_size": { ...PAGE_SIZE, minimum: 0 },
  "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest.task_id": name,
  "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest.id": name,
};

/** The bounds of a field by its full name, `lf.a2a.v1.ListTasksRequest.page_size`; empty where its type says all. */
export function boundsOf(fullName: string): FieldBounds {
  return BOUNDS[fullName] ?? {};
}
