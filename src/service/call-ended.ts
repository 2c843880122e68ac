/** The end of a wait that is not the task's. */
import { Code, ConnectError } from "@connectrpc/connect";
import { TaskError } from "../core/errors.ts";

/** The error of a call whose signal has aborted: its deadline has passed, or its caller has gone. */
export function callEnded(signal: AbortSignal, message: string, taskId: string): TaskError {
  const late = signal.reason instanceof ConnectError && signal.reason.code === Code.DeadlineExceeded;
  return new TaskError(late ? "DEADLINE_EXCEEDED" : "CANCELLED", message, { metadata: { taskId } });
}
