/**
 * Errors of the domain. Whoever is below the RPC edge throws these; rpc/errors maps each reason to the code of every binding.
 */

/** A2A's own reasons (requirements 1.5) and, after them, those that A2A leaves to the implementation. */
export type Reason =
  | "TASK_NOT_FOUND"
  | "TASK_NOT_CANCELABLE"
  | "PUSH_NOTIFICATION_NOT_SUPPORTED"
  | "UNSUPPORTED_OPERATION"
  | "CONTENT_TYPE_NOT_SUPPORTED"
  | "INVALID_AGENT_RESPONSE"
  | "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
  | "EXTENSION_SUPPORT_REQUIRED"
  | "VERSION_NOT_SUPPORTED"
  | "INVALID_ARGUMENT"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "TENANT_NOT_FOUND"
  | "MESSAGE_TOO_LARGE"
  | "RESOURCE_EXHAUSTED"
  | "STORE_UNAVAILABLE"
  | "NEWER_VERSION"
  | "IDENTITY_UNAVAILABLE"
  | "SERVER_DRAINING"
  | "STREAM_DRAINED"
  | "STREAM_STALLED"
  | "DEADLINE_EXCEEDED"
  | "CANCELLED"
  | "PARSE_ERROR"
  | "INVALID_REQUEST"
  | "METHOD_NOT_FOUND"
  | "PATH_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UNSUPPORTED_ENCODING"
  | "INTERNAL";

/** One bad field: its path in JSON names (`message.parts[0].text`) and what would be right. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What an error may carry besides its message. */
export interface ErrorExtras extends ErrorOptions {
  /** String facts for ErrorInfo, `taskId` among them. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Bad fields, for BadRequest. */
  readonly violations?: readonly Violation[];
  /** When trying again makes sense, in milliseconds from now. */
  readonly retryAfterMs?: number;
  /** Whether what was asked for may have been carried out all the same. Default false. */
  readonly outcomeUnknown?: boolean;
}

/** The one error class of core, worker and storage: a reason, a message fit for callers, and facts. */
export class TaskError extends Error {
  override readonly name = "TaskError";
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  readonly retryAfterMs: number | undefined;
  readonly outcomeUnknown: boolean;

  constructor(reason: Reason, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.reason = reason;
    this.metadata = extras.metadata ?? {};
    this.violations = extras.violations ?? [];
    this.retryAfterMs = extras.retryAfterMs;
    this.outcomeUnknown = extras.outcomeUnknown ?? false;
  }
}

/** the same answer for a task that does not exist and one of another scope. */
export function taskNotFound(taskId: string): TaskError {
  return new TaskError("TASK_NOT_FOUND", "no such task", { metadata: { taskId } });
}

/** The same error with the task that it is about; what nobody expected is INTERNAL, with what was thrown as its cause. */
export function aboutTask(error: unknown, taskId: string): TaskError {
  if (!(error instanceof TaskError)) return new TaskError("INTERNAL", "internal error", { metadata: { taskId }, cause: error });
  const { reason, message, violations, retryAfterMs, outcomeUnknown, cause } = error;
  const metadata = { taskId, ...error.metadata };
  return new TaskError(reason, message, {
    metadata,
    violations,
    outcomeUnknown,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Bad input that names its fields (C-29, C-30). */
export function invalidArgument(...violations: readonly [Violation, ...Violation[]]): TaskError {
  const [first] = violations;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  return new TaskError("INVALID_ARGUMENT", `${first.field}: ${first.description}${more}`, { violations });
}

/**
 * Why a store refused a write. FENCED: the lease is not the stored one. SEALED: the log ended with a terminal event. PENDING: a command
 * lies after `consumed`. STALE: the log has moved on since the writer last read it; nothing was written, read and encode again.
 */
export type Refusal = "FENCED" | "SEALED" | "PENDING" | "STALE";

/** A write that the store refused; the log is as it was. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`the store refused the write: ${refusal}`);
    this.refusal = refusal;
  }
}

/** Whether `error` is the given refusal. */
export function isRefused(error: unknown, ...refusals: readonly Refusal[]): error is RefusedError {
  return error instanceof RefusedError && refusals.includes(error.refusal);
}

/** Whether the store is away: the same step may succeed later. */
export function isAway(error: unknown): error is TaskError {
  return error instanceof TaskError && error.reason === "STORE_UNAVAILABLE";
}
