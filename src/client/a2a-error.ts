/** What a call of the client may end with. */
import { inspect, type InspectOptions } from "node:util";
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
  }

  /** Anything thrown, as an A2AError; what was one already stays as it is. */
  static from(error: unknown): A2AError {
    return error instanceof A2AError ? error : new A2AError(error);
  }

  /** What a log shows: the facts that there are. The binding's own error would bring its schema along, and a task all its artifacts. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { code, reason, metadata, violations, unreached, retryAfterMs, ...known } = this;
    const facts = {
      reason,
      code: Code[code],
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(violations.length > 0 && { violations }),
      ...(unreached && { unreached }),
      retryAfterMs,
      ...known,
      name: undefined,
      task: undefined,
      cause: this.cause instanceof ConnectError ? this.cause.cause : this.cause,
    };
    const given = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
    return `${this.stack} ${inspect(given, options)}`;
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
  /** The task as it was seen last. */
  readonly task: Task;

  constructor(cause: unknown, task: Task) {
    super(cause, `task ${task.id} is still running, and cannot be followed now (${A2AError.from(cause).message})`);
    this.task = task;
    this.taskId = task.id;
    this.contextId = task.contextId;
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
