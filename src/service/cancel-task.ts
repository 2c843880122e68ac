/** CancelTask: a command to whoever runs the task (R-066 to R-070, C-21). */
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { type CancelTaskRequest, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Command, CommandSchema } from "../../gen/throughline/v1/log_pb.ts";
import type { Caller } from "../core/agent.ts";
import { isRefused, TaskError, taskNotFound } from "../core/errors.ts";
import { newMark } from "../core/log-entry.ts";
import { isTerminal } from "../core/task.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { storedCaller } from "../worker/caller.ts";
import { storedTrace } from "../worker/stored-trace.ts";
import { tellCanceled } from "../worker/tell-canceled.ts";
import type { ServiceInit } from "./service-init.ts";
import { callEnded } from "./call-ended.ts";
import { readyStatus } from "./ready-event.ts";

/** Asks for the end of a task that nobody goes on with: the server itself. */
const NOBODY: Caller = { principal: "", tenant: "", owner: "", scopes: [], claims: {} };

/** What the owner may need, beyond the grace it gives its agent, to write CANCELED. */
const APPEND_MS = 250;

/**
 * Asks for the end of a task and waits for it: until the task is terminal, or the grace is over. A second call joins the first.
 * Throws TASK_NOT_CANCELABLE where the task has ended already, CANCELED included.
 */
export async function cancelTask(init: ServiceInit, request: CancelTaskRequest, asked: Asked): Promise<Task> {
  const { storage, snapshots, options, waits } = init;
  const { signal } = asked;
  const taskId = request.id;
  const from = await append(init, taskId, cancelCommand(asked, request.metadata));
  const grace = AbortSignal.timeout(options.cancelGraceMs + APPEND_MS);
  const until = AbortSignal.any([signal, grace]);
  const wait = waits.open({ storage, snapshots, taskId, from, project: () => undefined, signal: until });
  // The follower ends after the terminal event, or when the grace is over.
  while ((await wait.next()).done !== true);
  if (signal.aborted) throw callEnded(signal, "the wait has ended; the cancel request stands", taskId);
  return (await snapshots.read(taskId)).task;
}

/** Ends an interrupted task that nobody went on with. Does nothing where it has ended or somebody has asked for that already. */
export async function abandonTask(sources: Sources, taskId: string): Promise<void> {
  try {
    await append(sources, taskId, cancelCommand({ caller: NOBODY, headers: {}, trace: undefined }));
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
  }
}

/** Who asks. */
export interface Asked {
  readonly caller: Caller;
  /** Header fields that are handed on to the agent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the call stands in a trace. */
  readonly trace: TraceContext | undefined;
  /** Ends the wait, not the request. */
  readonly signal: AbortSignal;
}

type Sources = Pick<ServiceInit, "agent" | "log" | "storage" | "snapshots">;

async function append(sources: Sources, taskId: string, command: Command): Promise<{ offset: number; mark: string }> {
  const { storage, snapshots } = sources;
  const entry = { kind: "command", mark: newMark(), bytes: toBinary(CommandSchema, command), content: command } as const;
  for (;;) {
    const current = await snapshots.current(taskId);
    if (current === undefined) throw taskNotFound(taskId);
    const { meta, snapshot } = current;
    if (isTerminal(meta.state)) throw notCancelable(taskId, meta.state);
    if (meta.cancelRequested > 0) return snapshot.position;
    const canceled = readyStatus(snapshot.task, TaskState.CANCELED);
    const after = snapshot.position;
    try {
      const request = { taskId, entry, what: "cancel", repeat: undefined, after, working: undefined, canceled, lease: undefined } as const;
      const reply = await storage.command(request);
      // A living owner tells its turn; here nobody else would hear of it.
      if (reply.is === "appended" && !reply.owned)
        tellCanceled(sources, { taskId, contextId: meta.contextId, memo: snapshot.memo, command });
      return after;
    } catch (error) {
      if (!isRefused(error, "STALE", "SEALED")) throw error;
    }
  }
}

function cancelCommand({ caller, headers, trace }: Omit<Asked, "signal">, metadata?: JsonObject): Command {
  return create(CommandSchema, {
    kind: { case: "cancel", value: {} },
    caller: storedCaller(caller),
    headers: { ...headers },
    ...(metadata && { metadata }),
    ...(trace && { trace: storedTrace(trace) }),
  });
}

function notCancelable(taskId: string, state: TaskState): TaskError {
  const name = Object.entries(TaskState).find(([, value]) => value === state)?.[0] ?? "";
  return new TaskError("TASK_NOT_CANCELABLE", `the task has ended already: ${name}`, { metadata: { taskId } });
}
