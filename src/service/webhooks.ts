/** What the service asks of whoever delivers to webhooks. */
import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { StoredPushConfig } from "../core/push-configs.ts";

/** Judges and stores configurations. */
export interface Webhooks {
  /** What is wrong with a URL; undefined where it may be registered. The text goes on after the field's name. */
  problemOf(url: string): string | undefined;
  /** A configuration as it is stored. */
  encode(taskId: string, config: TaskPushNotificationConfig): StoredPushConfig;
  /** Reads it. */
  decode(taskId: string, config: StoredPushConfig): TaskPushNotificationConfig;
}
