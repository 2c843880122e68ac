/** How a task comes before the book: read, run, or told of by a webhook. */
import { Role, type StreamResponse, type Task, TaskState, TaskStateSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { stateOf } from "../../core/task.ts";
import type { A2AClient } from "../a2a-client.ts";
import { A2AError, StillRunningError, UnknownOutcomeError } from "../a2a-error.ts";
import { A2A_VERSION } from "../interfaces.ts";
import { unlessAborted } from "../pause.ts";
import { TaskRun } from "../task-run.ts";
import { isTask } from "../task-view.ts";
import { AcceptanceError } from "./acceptance-error.ts";
import { bareUrl } from "./artifact-content.ts";
import type { AcceptanceRecord, ObservedBy, RecordedAgent } from "./record.ts";

/**
 * What is accepted, held or rejected: a task's id, which is read with GetTask; a run, which is awaited; or what a webhook was sent, which is taken
 * for a hint only: the task is read then.
 */
export type Subject = string | TaskRun | StreamResponse;

/** What a book needs of a client. */
export type AcceptanceClient = Pick<A2AClient, "getTask" | "card" | "endpoint">;

/** What was seen. Without `task` nothing was, and `gap` says why. */
export interface Observation {
  readonly taskId: string;
  readonly contextId?: string;
  readonly messageId?: string;
  readonly task?: Task;
  readonly observed?: NonNullable<AcceptanceRecord["observed"]>;
  readonly agent?: RecordedAgent;
  readonly gap?: string;
}

/**
 * Observes a subject. A task that the agent does not know, or whose send was lost, is a gap (CL-11, CL-26). Other failures are thrown; with
 * `whatever` they are gaps too.
 */
export async function observe(
  subject: Subject,
  { client, whatever, signal }: { readonly client: AcceptanceClient; readonly whatever: boolean; readonly signal: AbortSignal },
): Promise<Observation> {
  const known = knownOf(subject);
  try {
    const seen = subject instanceof TaskRun ? await ofRun(subject, client, signal) : await read(client, known.taskId, known.by, signal);
    return { ...seen, agent: await agentOf(client, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StillRunningError) return ofTask(error.task, "get-task");
    const unknown = error instanceof UnknownOutcomeError;
    if (!(error instanceof A2AError) || !(unknown || whatever || error.reason === "TASK_NOT_FOUND")) throw error;
    const gap = error.reason === "UNKNOWN" || unknown ? error.message : `${error.reason}: ${error.message}`;
    if (!unknown) return { taskId: known.taskId, gap };
    const { taskId = known.taskId, contextId, messageId } = error;
    return { taskId, ...(contextId !== undefined && { contextId }), ...(taskId === "" && messageId !== undefined && { messageId }), gap };
  }
}

/** Whether a task has come to its end as it should: only then its content is final, and a delivery (CL-24). */
export function isCompleted(task: Task | undefined): boolean {
  return task !== undefined && stateOf(task) === TaskState.COMPLETED;
}

/** The tasks that a task refines, as its user's messages say. */
export function referencesOf(task: Task): readonly string[] {
  const said = task.history.filter(({ role }) => role !== Role.AGENT).flatMap(({ referenceTaskIds }) => referenceTaskIds);
  return [...new Set(said)].filter((id) => id !== task.id);
}

function knownOf(subject: Subject): { readonly taskId: string; readonly by: "get-task" | "push" } {
  if (typeof subject === "string") {
    if (subject === "") throw new AcceptanceError("subject", "it must be a task's id");
    return { taskId: subject, by: "get-task" };
  }
  if (subject instanceof TaskRun) return { taskId: subject.task?.id ?? "", by: "get-task" };
  const { payload } = subject;
  const taskId = payload.case === "task" ? payload.value.id : (payload.value?.taskId ?? "");
  if (taskId === "") throw new AcceptanceError("subject", "the notice names no task");
  return { taskId, by: "push" };
}

async function ofRun(run: TaskRun, client: AcceptanceClient, signal: AbortSignal): Promise<Observation> {
  signal.throwIfAborted();
  const reply = await unlessAborted(Promise.resolve(run), signal);
  if (!isTask(reply)) throw new AcceptanceError("subject", "the agent has answered with a message: there is no task to accept");
  // What another server could not tell again, GetTask tells.
  if (run.incomplete.size > 0) return read(client, reply.id, "get-task", signal);
  return ofTask(reply, run.observed?.by ?? "get-task", run.observed?.at);
}

async function read(client: AcceptanceClient, taskId: string, by: ObservedBy, signal: AbortSignal): Promise<Observation> {
  return ofTask(await client.getTask(taskId, { signal }), by);
}

function ofTask(task: Task, by: ObservedBy, at: number = Date.now()): Observation {
  const state = TaskStateSchema.value[stateOf(task)]?.name ?? String(stateOf(task));
  return { taskId: task.id, contextId: task.contextId, task, observed: { by, state, at: new Date(at).toISOString() } };
}

async function agentOf(client: AcceptanceClient, signal: AbortSignal): Promise<RecordedAgent> {
  const { name } = await client.card({ signal });
  const { binding = "", url = "", tenant = "" } = client.endpoint ?? {};
  return { name, binding, url: bareUrl(url), tenant, protocolVersion: A2A_VERSION };
}
