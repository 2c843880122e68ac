/** From a hint to what holds. */
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../a2a-error.ts";
import type { A2AClient, CallOptions } from "../a2a-client.ts";
import type { Notification } from "./notification.ts";

/**
 * The task that a notification is about as its server has it now, which may be further on. Undefined where there is none: the server has
 * forgotten it, or what came was a message without a task (CL-11). Other failures are those of GetTask.
 */
export async function reconcile(
  client: Pick<A2AClient, "getTask">,
  { taskId }: Pick<Notification, "taskId">,
  options: CallOptions & { readonly historyLength?: number } = {},
): Promise<Task | undefined> {
  if (taskId === "") return undefined;
  try {
    return await client.getTask(taskId, options);
  } catch (error) {
    if (error instanceof A2AError && error.reason === "TASK_NOT_FOUND") return undefined;
    throw error;
  }
}
