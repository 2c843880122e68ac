/**
 * The form in which logs are stored, told by a number, so that versions of this program can run beside each other. Every entry carries the
 * format that it was written in, and the record of a task the newest one in which anything of the task is stored. Fields that a message has
 * in addition are no new format: who does not know them passes them over. Another kind of entry is, and so is another meaning of what is there.
 */
import { TaskError } from "./errors.ts";

/** The newest format that this version reads. A task with anything newer is left to replicas of a newer version. */
export const READS = 1;

/** The format that this version writes: one that the version before it reads. So a format is read one version before it is written. */
export const WRITES = 1;

/** The task is stored in a form that this version does not know. A replica of the version that wrote it answers: the call is to be repeated. */
export function newerVersion(taskId: string): TaskError {
  return new TaskError("NEWER_VERSION", "written by a newer version: ask another replica", { metadata: { taskId } });
}

/** Whether something failed because this version is too old for it. */
export function isNewer(error: unknown): error is TaskError {
  return error instanceof TaskError && error.reason === "NEWER_VERSION";
}
