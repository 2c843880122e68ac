/** What the upstream refuses, told to our callers. */
import { A2AError } from "../client/index.ts";
import { type Reason, TaskError } from "../core/errors.ts";

/** Refusals that are about what the caller sent. */
const ABOUT_THE_CALL: ReadonlySet<string> = new Set([
  "INVALID_ARGUMENT",
  "INVALID_AGENT_RESPONSE",
  "CONTENT_TYPE_NOT_SUPPORTED",
  "UNSUPPORTED_OPERATION",
  "EXTENSION_SUPPORT_REQUIRED",
  "MESSAGE_TOO_LARGE",
  "RESOURCE_EXHAUSTED",
] satisfies Reason[]);

/** Refusals that are about the caller, where the credentials were the caller's own. */
const ABOUT_THE_CALLER: ReadonlySet<string> = new Set(["UNAUTHENTICATED", "PERMISSION_DENIED"] satisfies Reason[]);

/**
 * An upstream's refusal as ours, with its fields; undefined where it says nothing about the call, and the front's own affairs with the
 * upstream are none of the caller's.
 */
export function refusalOf(error: unknown, { ownCredentials }: { readonly ownCredentials: boolean }): TaskError | undefined {
  if (!(error instanceof A2AError)) return undefined;
  const { reason, message, violations, retryAfterMs } = error;
  if (!ABOUT_THE_CALL.has(reason) && !(ownCredentials && ABOUT_THE_CALLER.has(reason))) return undefined;
  return new TaskError(reason as Reason, message, { violations, cause: error, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}
