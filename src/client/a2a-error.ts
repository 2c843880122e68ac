/** What a call of the client may end with. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { clientErrorFacts } from "../rpc/client-errors.ts";

/** A bad field that a server named. */
interface BadField {
  readonly field: string;
  readonly description: string;
}

/** A call that failed; the same over every binding. `cause` is the binding's own error. */
export class A2AError extends Error {
  override readonly name: string = "A2AError";
  /** The server's reason (`TASK_NOT_FOUND`), or where it gives none the gRPC name of its code (`UNAVAILABLE`). */
  readonly reason: string;
  /** gRPC's number. */
  readonly code: Code;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly BadField[];
  /** No connection came about: the server has seen nothing of the call. */
  readonly unreached: boolean;
  /** When trying again makes sense, in milliseconds from now; undefined where the server did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(cause: unknown, message?: string) {
    const facts = clientErrorFacts(cause);
    super(message ?? facts.message, { cause });
    this.reason = facts.reason;
    this.code = facts.code;
    this.metadata = facts.metadata;
    this.violations = facts.violations;
    this.retryAfterMs = facts.retryAfterMs;
    this.unreached = facts.unreached;
    // A log shows causes with all that can be enumerated, and details bring their schema along.
    if (cause instanceof ConnectError) Object.defineProperty(cause, "details", { enumerable: false });
  }

  /** Anything thrown, as an A2AError; what was one already stays as it is. */
  static from(error: unknown): A2AError {
    return error instanceof A2AError ? error : new A2AError(error);
  }
}

/** A call that could not be made, as there is no interface or there are no credentials for it: nothing was sent. An {@link A2AError} to users. */
export class NothingSentError extends A2AError {
  /** Keeps the code and the message of what was thrown. */
  constructor(thrown: unknown) {
    const { message, cause } = A2AError.from(thrown);
    super(cause, message);
  }
}

/** The task that was known is gone, or a send broke off before its task was: the work may have run all the same (CL-11, CL-13, CL-14). */
export class UnknownOutcomeError extends A2AError {
  override readonly name = "UnknownOutcomeError";
  /** Undefined where no task was heard of. */
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly messageId: string | undefined;

  constructor(
    cause: unknown,
    known: { readonly taskId?: string | undefined; readonly contextId?: string | undefined; readonly messageId?: string | undefined },
  ) {
    super(cause, `the outcome is unknown: the work may have run (${A2AError.from(cause).message})`);
    this.taskId = known.taskId;
    this.contextId = known.contextId;
    this.messageId = known.messageId;
  }
}

/** The task could not be followed to its rest in as many attempts as there may be; it goes on without its reader (CL-12). */
export class StillRunningError extends A2AError {
  override readonly name = "StillRunningError";
  readonly taskId: string;
  readonly contextId: string;
  // In no log: it may have any number of artifacts.
  readonly #task: Task;

  constructor(cause: unknown, task: Task) {
    super(cause, `task ${task.id} is still running, and cannot be followed now (${A2AError.from(cause).message})`);
    this.#task = task;
    this.taskId = task.id;
    this.contextId = task.contextId;
  }

  /** The task as it was seen last. */
  get task(): Task {
    return this.#task;
  }
}

/** Whether the same call may succeed a moment later. */
export function isTransient(error: A2AError): boolean {
  return (
    error.code === Code.Unavailable ||
    error.code === Code.DeadlineExceeded ||
    (error.code === Code.ResourceExhausted && error.retryAfterMs !== undefined)
  );
}
