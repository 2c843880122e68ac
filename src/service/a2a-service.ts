/** The eleven operations of A2A, written once for every binding. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type {
  A2AService,
  CancelTaskRequest,
  GetExtendedAgentCardRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type SendMessageResponseSchema, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError, taskNotFound } from "../core/errors.ts";
import type { Frame } from "../core/follow.ts";
import type { Snapshot } from "../core/fold.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Current } from "../core/snapshots.ts";
import { isAtRest, isTerminal, stateAfter, stateOf } from "../core/task.ts";
import { principalOf } from "../rpc/call-facts.ts";
import { lazyStream } from "../rpc/lazy-stream.ts";
import { cancelTask } from "./cancel-task.ts";
import { plainFrame, taskFrame, withHistory } from "./frames.ts";
import { listTasks } from "./list-tasks.ts";
import type { SendInit } from "./send.ts";
import { SendFlow } from "./send-message.ts";
import type { Streams } from "./streams.ts";
import { validateTaskRequest, validateTenant } from "./validate.ts";

/** What the service is made of. */
export interface ServiceInit extends SendInit {
  readonly streams: Streams;
}

/** Header, and gRPC initial metadata, that names the task as soon as it exists. */
export const TASK_ID_HEADER = "a2a-task-id";

/** The service over one log. Throws TaskError; the bindings map it by the one table. */
export class A2AServiceImpl implements ServiceImpl<typeof A2AService> {
  readonly #init: ServiceInit;
  readonly #sends: SendFlow;

  constructor(init: ServiceInit) {
    this.#init = init;
    this.#sends = new SendFlow(init);
  }

  async sendMessage(request: SendMessageRequest, context: HandlerContext): Promise<MessageInitShape<typeof SendMessageResponseSchema>> {
    const scope = scopeOf(request.tenant, context);
    const sent = await this.#sends.send({ request, scope, signal: context.signal });
    if (sent.is === "message") return { payload: { case: "message", value: sent.message } };
    const { historyLength, returnImmediately } = request.configuration ?? {};
    const { first, repeat } = sent;
    context.responseHeader.set(TASK_ID_HEADER, first.task.id);
    const task = returnImmediately === true ? first.task : await this.#untilAtRest(first, repeat, context);
    return { payload: { case: "task", value: withHistory(task, historyLength) } };
  }

  sendStreamingMessage(request: SendMessageRequest, context: HandlerContext): AsyncIterable<StreamResponse> {
    return lazyStream(async () => {
      this.#requireStreaming();
      const scope = scopeOf(request.tenant, context);
      const sent = await this.#sends.send({ request, scope, signal: context.signal });
      if (sent.is === "message") return once(create(StreamResponseSchema, { payload: { case: "message", value: sent.message } }));
      const { first, repeat } = sent;
      context.responseHeader.set(TASK_ID_HEADER, first.task.id);
      const { historyLength } = request.configuration ?? {};
      const frame = (task: Task): StreamResponse => taskFrame(withHistory(task, historyLength));
      // A repeat of a send whose stream has ended at INPUT_REQUIRED ends there too.
      if (repeat && this.#endsAt(stateOf(first.task), "send")) return once(frame(first.task));
      return this.#follow(first, context, "send", (shown) => (shown.is === "snapshot" ? frame(shown.snapshot.task) : plainFrame(shown)));
    });
  }

  subscribeToTask(request: SubscribeToTaskRequest, context: HandlerContext): AsyncIterable<StreamResponse> {
    return lazyStream(async () => {
      this.#requireStreaming();
      validateTaskRequest(request, this.#init.options);
      const { snapshot, meta } = await this.#current(request, context);
      if (isTerminal(meta.state)) {
        throw new TaskError("UNSUPPORTED_OPERATION", "the task has ended: read it with GetTask", { metadata: { taskId: request.id } });
      }
      return this.#follow(snapshot, context, "subscription", plainFrame);
    });
  }

  async getTask(request: GetTaskRequest, context: HandlerContext): Promise<Task> {
    validateTaskRequest(request, this.#init.options);
    const { snapshot } = await this.#current(request, context);
    return withHistory(snapshot.task, request.historyLength);
  }

  listTasks(request: ListTasksRequest, context: HandlerContext): ReturnType<ServiceImpl<typeof A2AService>["listTasks"]> {
    return listTasks(this.#init, scopeOf(request.tenant, context), request);
  }

  async cancelTask(request: CancelTaskRequest, context: HandlerContext): Promise<Task> {
    validateTaskRequest(request, this.#init.options);
    await this.#current(request, context);
    const task = await cancelTask(this.#init, request, scopeOf(request.tenant, context), context.signal);
    return withHistory(task, undefined);
  }

  createTaskPushNotificationConfig(): never {
    throw pushOff();
  }

  getTaskPushNotificationConfig(): never {
    throw pushOff();
  }

  listTaskPushNotificationConfigs(): never {
    throw pushOff();
  }

  deleteTaskPushNotificationConfig(): never {
    throw pushOff();
  }

  getExtendedAgentCard(request: GetExtendedAgentCardRequest): never {
    validateTenant(request.tenant, this.#init.options);
    throw new TaskError("UNSUPPORTED_OPERATION", "this agent has no extended card");
  }

  /** The task, if the caller may see it. */
  async #current({ id, tenant }: { id: string; tenant: string }, context: HandlerContext): Promise<Current> {
    const current = await this.#init.snapshots.current(id);
    if (current === undefined || scopeKey(current.meta.scope) !== scopeKey(scopeOf(tenant, context))) throw taskNotFound(id);
    return current;
  }

  /** Follows the log until the task is at rest; only a state entered after the message counts (C-38). */
  async #untilAtRest(first: Snapshot, repeat: boolean, { signal }: HandlerContext): Promise<Task> {
    const taskId = first.task.id;
    if (repeat && isAtRest(stateOf(first.task))) return first.task;
    const wait = this.#init.streams.open<Frame>({ ...this.#sources(), taskId, from: first.position, project: (frame) => frame, signal });
    try {
      for await (const frame of wait) {
        const state = frame.is === "event" ? stateAfter(frame.entry.event) : stateOf(frame.snapshot.task);
        if (state !== undefined && isAtRest(state)) return (await this.#init.snapshots.read(taskId)).task;
      }
    } catch (error) {
      if (error instanceof TaskError && error.reason === "STREAM_DRAINED") {
        throw new TaskError("SERVER_DRAINING", "this replica is going away; the task goes on", {
          metadata: { taskId },
          retryAfterMs: 1000,
        });
      }
      throw error;
    }
    if (!signal.aborted) return (await this.#init.snapshots.read(taskId)).task;
    const late = signal.reason instanceof TaskError && signal.reason.reason === "DEADLINE_EXCEEDED";
    throw new TaskError(late ? "DEADLINE_EXCEEDED" : "CANCELLED", "the wait has ended; the task goes on", { metadata: { taskId } });
  }

  #follow(
    first: Snapshot,
    { signal }: HandlerContext,
    kind: "send" | "subscription",
    project: (frame: Frame) => StreamResponse,
  ): AsyncIterator<StreamResponse, undefined> {
    const endsAfter = ({ event }: { event: StreamResponse }): boolean => {
      const state = stateAfter(event);
      return state !== undefined && this.#endsAt(state, kind);
    };
    return this.#init.streams.open({ ...this.#sources(), taskId: first.task.id, from: first, project, endsAfter, signal });
  }

  /** Whether a stream of this kind ends at an interrupted state (C-02, DESIGN 6). */
  #endsAt(state: TaskState, kind: "send" | "subscription"): boolean {
    const { closeOnInputRequired } = this.#init.options;
    return state === TaskState.INPUT_REQUIRED && (closeOnInputRequired === "all" || (closeOnInputRequired === "send" && kind === "send"));
  }

  #sources(): Pick<ServiceInit, "storage" | "snapshots"> {
    return { storage: this.#init.storage, snapshots: this.#init.snapshots };
  }

  #requireStreaming(): void {
    if (this.#init.card.capabilities?.streaming === true) return;
    throw new TaskError("UNSUPPORTED_OPERATION", "this agent does not stream: send with SendMessage, read with GetTask");
  }
}

/** Whose tasks a call is about. */
function scopeOf(tenant: string, context: HandlerContext): Scope {
  return { tenant, owner: principalOf(context).name };
}

function pushOff(): TaskError {
  return new TaskError("PUSH_NOTIFICATION_NOT_SUPPORTED", "this agent sends no push notifications");
}

async function* once(frame: StreamResponse): AsyncGenerator<StreamResponse, undefined> {
  yield frame;
}
