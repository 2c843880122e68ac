/** What a failed call to the upstream says of its task. */
import { Code } from "@connectrpc/connect";
import { A2AError, StillRunningError, UnknownOutcomeError } from "../client/index.ts";
import { isTransient } from "../client/a2a-error.ts";
import { isAway as isStoreAway } from "../core/errors.ts";

/** Nothing: the upstream cannot be heard now, or our own store cannot. */
export function isAway(error: unknown): boolean {
  if (isStoreAway(error) || error instanceof StillRunningError) return true;
  if (!(error instanceof A2AError) || isLost(error, { asked: false })) return false;
  return error instanceof UnknownOutcomeError || isTransient(error) || error.unreached;
}

/** What the client itself makes of a call that was closed, or of what is no answer. */
const UNHEARD: ReadonlySet<string> = new Set(["UNKNOWN", "CANCELLED"]);

/** A word of the upstream's: it refuses, or has lost the task, and so it is there. */
export function isAnswer(error: unknown): boolean {
  return isLost(error, { asked: false }) || (error instanceof A2AError && !isAway(error) && !UNHEARD.has(error.reason));
}

/** It knows the task no more. `asked`: GetTask said so, whose bare NOT_FOUND means nothing else. */
export function isLost(error: unknown, { asked }: { readonly asked: boolean }): boolean {
  return causes(error).some(({ reason }) => reason === "TASK_NOT_FOUND" || (asked && reason === "NOT_FOUND"));
}

/** Whoever asks may not. */
export function isDenied(error: A2AError): boolean {
  return causes(error).some(({ reason }) => reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED");
}

/** The upstream has not begun to work on what it was sent. */
export function isUncarried(error: unknown): boolean {
  return isStoreAway(error) || causes(error).some(({ unreached, code }) => unreached || code === Code.ResourceExhausted);
}

/** When trying again makes sense, if the upstream has said so. */
export function retryAfterMs(error: unknown): number | undefined {
  return causes(error).find((cause) => cause.retryAfterMs !== undefined)?.retryAfterMs;
}

/** The errors of the client that an error comes from, itself the first: what it was told first is told last. */
function causes(error: unknown): readonly A2AError[] {
  const all: A2AError[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof A2AError) all.push(cause);
  return all;
}
