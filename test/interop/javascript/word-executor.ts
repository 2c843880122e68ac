/** The word agent as an executor of `@a2a-js/sdk`. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Message, type Part, Role, TaskState } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";

const SLOW_MS = 60_000;

export class WordExecutor implements AgentExecutor {
  readonly #running = new Map<string, { readonly contextId: string; readonly abort: AbortController }>();

  execute = async (request: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const abort = new AbortController();
    this.#running.set(request.taskId, { contextId: request.contextId, abort });
    try {
      await work(request, bus, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    } finally {
      this.#running.delete(request.taskId);
    }
  };

  cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    const running = this.#running.get(taskId);
    if (running === undefined) return;
    running.abort.abort();
    tell(bus, { taskId, contextId: running.contextId }, TaskState.TASK_STATE_CANCELED);
  };
}

type Names = Pick<RequestContext, "taskId" | "contextId">;

async function work(request: RequestContext, bus: ExecutionEventBus, signal: AbortSignal): Promise<void> {
  const { taskId, contextId, userMessage, task } = request;
  const text = textOf(userMessage);
  if (task !== undefined) {
    // Of a follow-up, too, a stream is to begin with the task.
    bus.publish(AgentEvent.task(task));
    say(bus, request, text);
    return;
  }
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(text) ?? [];
  if (word === "message") {
    bus.publish(AgentEvent.message(messageOf({ taskId: "", contextId }, rest)));
    return;
  }
  bus.publish(
    AgentEvent.task({
      id: taskId,
      contextId,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() },
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    }),
  );
  if (word === "echo") say(bus, request, rest);
  else if (word === "stream") await chunks(bus, request, rest.split(" ").map(Number), signal);
  else if (word === "ask") tell(bus, request, TaskState.TASK_STATE_INPUT_REQUIRED, "What shall it say?");
  else if (word === "slow") {
    tell(bus, request, TaskState.TASK_STATE_WORKING);
    await delay(SLOW_MS, undefined, { signal });
    tell(bus, request, TaskState.TASK_STATE_COMPLETED);
  } else tell(bus, request, TaskState.TASK_STATE_FAILED, "It was told to fail");
}

function say(bus: ExecutionEventBus, names: Names, text: string): void {
  publishChunk(bus, names, "text", text, false, true);
  tell(bus, names, TaskState.TASK_STATE_COMPLETED);
}

async function chunks(bus: ExecutionEventBus, names: Names, [count = 0, ms = 0]: readonly number[], signal: AbortSignal): Promise<void> {
  tell(bus, names, TaskState.TASK_STATE_WORKING);
  for (let chunk = 1; chunk <= count; chunk += 1) {
    if (chunk > 1) await delay(ms, undefined, { signal });
    publishChunk(bus, names, "chunks", `c${chunk} `, chunk > 1, chunk === count);
  }
  tell(bus, names, TaskState.TASK_STATE_COMPLETED);
}

function publishChunk(
  bus: ExecutionEventBus,
  { taskId, contextId }: Names,
  artifactId: string,
  text: string,
  append: boolean,
  lastChunk: boolean,
): void {
  const artifact = { artifactId, name: "", description: "", parts: [textPart(text)], metadata: undefined, extensions: [] };
  bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
}

function tell(bus: ExecutionEventBus, { taskId, contextId }: Names, state: TaskState, text?: string): void {
  const message = text === undefined ? undefined : messageOf({ taskId, contextId }, text);
  const status = { state, message, timestamp: new Date().toISOString() };
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
}

function messageOf({ taskId, contextId }: Names, text: string): Message {
  const parts = [textPart(text)];
  const role = Role.ROLE_AGENT;
  return { messageId: randomUUID(), contextId, taskId, role, parts, metadata: undefined, extensions: [], referenceTaskIds: [] };
}

function textPart(text: string): Part {
  return { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
}

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}
