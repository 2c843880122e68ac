/** The bench agent, as an executor of `@a2a-js/sdk`. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Message, Role, type Part, TaskState } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { pacer, parseScript, updateText } from "../examples/conformance-agent/bench-script.ts";

const ARTIFACT_ID = "bench";

const textPart = (text: string): Part => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" });

export class JsBenchAgent implements AgentExecutor {
  readonly #running = new Map<string, { readonly contextId: string; readonly abort: AbortController }>();

  execute = async (request: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const abort = new AbortController();
    this.#running.set(request.taskId, { contextId: request.contextId, abort });
    try {
      await this.#run(request, bus, abort.signal);
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
    publishStatus(bus, { taskId, contextId: running.contextId }, TaskState.TASK_STATE_CANCELED);
  };

  async #run(request: RequestContext, bus: ExecutionEventBus, signal: AbortSignal): Promise<void> {
    const { taskId, contextId, userMessage } = request;
    const script = parseScript(userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join(" "));
    const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal });
    if (script.silent > 0) await pause(script.silent);
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
    publishStatus(bus, request, TaskState.TASK_STATE_WORKING);
    if (script.start > 0) await pause(script.start);
    const beat = pacer(script.delay, signal);
    for (let index = 0; index < script.events; index++) {
      if (index > 0 && script.delay > 0) await beat();
      const text = updateText(script.bytes);
      if (script.kind === "status") publishStatus(bus, request, TaskState.TASK_STATE_WORKING, text);
      else publishChunk(bus, request, text, index > 0, index === script.events - 1);
    }
    if (script.hold > 0) await pause(script.hold);
    publishStatus(bus, request, TaskState.TASK_STATE_COMPLETED);
  }
}

type TaskName = Pick<RequestContext, "taskId" | "contextId">;

function publishStatus(bus: ExecutionEventBus, { taskId, contextId }: TaskName, state: TaskState, text?: string): void {
  const message: Message | undefined =
    text === undefined
      ? undefined
      : {
          messageId: randomUUID(),
          contextId,
          taskId,
          role: Role.ROLE_AGENT,
          parts: [textPart(text)],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
  bus.publish(
    AgentEvent.statusUpdate({ taskId, contextId, status: { state, message, timestamp: new Date().toISOString() }, metadata: undefined }),
  );
}

function publishChunk(bus: ExecutionEventBus, { taskId, contextId }: TaskName, text: string, append: boolean, lastChunk: boolean): void {
  bus.publish(
    AgentEvent.artifactUpdate({
      taskId,
      contextId,
      artifact: { artifactId: ARTIFACT_ID, name: "", description: "", parts: [textPart(text)], metadata: undefined, extensions: [] },
      append,
      lastChunk,
      metadata: undefined,
    }),
  );
}
