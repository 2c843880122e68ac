/** What a failed call to the upstream says of its task. */
import { A2AError, StillRunningError, UnknownOutcomeError } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { isAway as isStoreAway } from "../core/errors.ts";

/** Nothing: the upstream cannot be heard now, or our own store cannot. */
export function isAway(error: unknown): boolean {
  if (isStoreAway(error) || error instanceof StillRunningError) return true;
  if (!(error instanceof A2AError) || isLost(error, { asked: false })) return false;
  return error instanceof UnknownOutcomeError || isTransient(error) || error.unreached;
}

/** It knows the task no more. `asked`: GetTask said so, whose bare NOT_FOUND means nothing else. */
export function isLost(error: unknown, { asked }: { readonly asked: boolean }): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof A2AError && (cause.reason === "TASK_NOT_FOUND" || (asked && cause.reason === "NOT_FOUND"))) return true;
  }
  return false;
}

/** Whoever asks may not. */
export function isDenied({ reason }: A2AError): boolean {
  return reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED";
}

/** The upstream has not begun to work on what it was sent. */
export function isUncarried(error: unknown): boolean {
  if (isStoreAway(error)) return true;
  return error instanceof A2AError && (error.unreached || error.reason === "RESOURCE_EXHAUSTED");
}
