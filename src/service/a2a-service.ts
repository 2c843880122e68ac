/** The eleven operations of A2A, written once for every binding. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type {
  A2AService,
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type SendMessageResponseSchema, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Caller } from "../core/agent.ts";
import { aboutTask, TaskError, taskNotFound } from "../core/errors.ts";
import type { Frame } from "../core/follow.ts";
import type { Snapshot } from "../core/fold.ts";
import { type Position, samePosition } from "../core/log-entry.ts";
import type { Scope } from "../core/scope.ts";
import type { Current } from "../core/snapshots.ts";
import { isAtRest, isTerminal, stateAfter, stateOf } from "../core/task.ts";
import { acceptedKey, extensionsKey, TASK_ID_HEADER } from "../rpc/call-facts.ts";
import { observedKey, type StreamStart, traceOf } from "../rpc/call-observer.ts";
import { lazyStream } from "../rpc/lazy-stream.ts";
import { callEnded } from "./call-ended.ts";
import { callerOf } from "./caller.ts";
import { cancelTask } from "./cancel-task.ts";
import { extendedCard } from "./extended-card.ts";
import { plainFrame, withHistory } from "./frames.ts";
import { listTasks } from "./list-tasks.ts";
import { badResume, logActive, positionedFrame, type Resume, resumeOf } from "./log-extension.ts";
import { DELIVERY_HEADER, PushConfigOperations, requirePush } from "./push-configs.ts";
import type { ServiceInit } from "./service-init.ts";
import { SendFlow, type Sent } from "./send-message.ts";
import { validateTaskRequest, validateTenant } from "./validate.ts";

/** The service over one log. Throws TaskError; the bindings map it by the one table. */
export class A2AServiceImpl implements ServiceImpl<typeof A2AService> {
  readonly #init: ServiceInit;
  readonly #sends: SendFlow;
  readonly #push: PushConfigOperations;

  constructor(init: ServiceInit) {
    this.#init = init;
    this.#sends = new SendFlow(init);
    this.#push = new PushConfigOperations(init);
  }

  async sendMessage(request: SendMessageRequest, context: HandlerContext): Promise<MessageInitShape<typeof SendMessageResponseSchema>> {
    const sent = await this.#send(request, context);
    if (sent.is === "message") return { payload: { case: "message", value: sent.message } };
    const { historyLength, returnImmediately } = request.configuration ?? {};
    const first = sent.is === "resumed" ? sent.current.snapshot : sent.first;
    const task = returnImmediately === true ? first.task : await this.#untilAtRest(first, context);
    return { payload: { case: "task", value: withHistory(task, historyLength) } };
  }

  sendStreamingMessage(request: SendMessageRequest, context: HandlerContext): AsyncIterable<StreamResponse> {
    return lazyStream(async () => {
      this.#requireStreaming();
      const sent = await this.#send(request, context);
      if (sent.is === "message")
        return this.#once(context, create(StreamResponseSchema, { payload: { case: "message", value: sent.message } }));
      const project = projector(context, request.configuration?.historyLength);
      if (sent.is === "resumed") return this.#goOn(sent.current, context, "send", project);
      const start = sent.repeat ? "repeat" : "send";
      return this.#follow(sent.first.task.id, sent.first, context, { kind: "send", start }, project);
    });
  }

  subscribeToTask(request: SubscribeToTaskRequest, context: HandlerContext): AsyncIterable<StreamResponse> {
    return lazyStream(async () => {
      this.#requireStreaming();
      const caller = this.#caller(request, context);
      validateTaskRequest(request, this.#init.options);
      const resume = resumeOf(context);
      if (resume !== undefined && resume.taskId !== request.id) throw badResume("names another task than the request");
      const current = await this.#current(request, caller, context);
      context.responseHeader.set(TASK_ID_HEADER, request.id);
      if (resume !== undefined) return this.#goOn(current, context, "subscription", projector(context));
      if (isTerminal(current.meta.state)) throw ended(request.id);
      return this.#follow(request.id, current.snapshot, context, { kind: "subscription", start: "snapshot" }, projector(context));
    });
  }

  async getTask(request: GetTaskRequest, context: HandlerContext): Promise<Task> {
    const caller = this.#caller(request, context);
    validateTaskRequest(request, this.#init.options);
    const { snapshot } = await this.#current(request, caller, context);
    return withHistory(snapshot.task, request.historyLength);
  }

  listTasks(request: ListTasksRequest, context: HandlerContext): ReturnType<ServiceImpl<typeof A2AService>["listTasks"]> {
    return listTasks(this.#init, this.#caller(request, context), request);
  }

  async cancelTask(request: CancelTaskRequest, context: HandlerContext): Promise<Task> {
    const caller = this.#caller(request, context);
    validateTaskRequest(request, this.#init.options);
    await this.#current(request, caller, context);
    const asked = { caller, headers: this.#forwarded(context), trace: traceOf(context), signal: context.signal };
    const task = await cancelTask(this.#init, request, asked);
    return withHistory(task, undefined);
  }

  async createTaskPushNotificationConfig(
    request: TaskPushNotificationConfig,
    context: HandlerContext,
  ): Promise<TaskPushNotificationConfig> {
    requirePush(this.#init.options);
    return this.#push.create(request, this.#caller(request, context));
  }

  async getTaskPushNotificationConfig(
    request: GetTaskPushNotificationConfigRequest,
    context: HandlerContext,
  ): Promise<TaskPushNotificationConfig> {
    requirePush(this.#init.options);
    const { config, delivery } = await this.#push.get(request, this.#caller(request, context));
    context.responseHeader.set(DELIVERY_HEADER, delivery);
    return config;
  }

  async listTaskPushNotificationConfigs(
    request: ListTaskPushNotificationConfigsRequest,
    context: HandlerContext,
  ): Promise<{ configs: TaskPushNotificationConfig[]; nextPageToken: string }> {
    requirePush(this.#init.options);
    return this.#push.list(request, this.#caller(request, context));
  }

  async deleteTaskPushNotificationConfig(request: DeleteTaskPushNotificationConfigRequest, context: HandlerContext): Promise<object> {
    requirePush(this.#init.options);
    await this.#push.delete(request, this.#caller(request, context));
    return {};
  }

  async getExtendedAgentCard(request: GetExtendedAgentCardRequest, context: HandlerContext): Promise<AgentCard> {
    const caller = this.#caller(request, context);
    validateTenant(request.tenant, this.#init.options);
    return extendedCard(this.#init, { ...caller, headers: this.#forwarded(context), trace: traceOf(context) }, context);
  }

  async #send(request: SendMessageRequest, context: HandlerContext): Promise<Sent> {
    const caller = this.#caller(request, context);
    const extensions = [...context.values.get(extensionsKey)];
    const [headers, resume, trace] = [this.#forwarded(context), resumeOf(context), traceOf(context)];
    const sent = await this.#sends.send({ request, caller, signal: context.signal, extensions, headers, resume, trace });
    if (sent.is === "message") return sent;
    const { id, contextId } = sent.is === "task" ? sent.first.task : sent.current.meta;
    context.responseHeader.set(TASK_ID_HEADER, id);
    context.values.get(observedKey)?.about(id, contextId);
    return sent;
  }

  /** What of the call's header fields the agent is to see. */
  #forwarded({ requestHeader }: HandlerContext): Record<string, string> {
    const fields = this.#init.options.forwardHeaders.map((name) => [name, requestHeader.get(name)] as const);
    return Object.fromEntries(fields.filter((field): field is [string, string] => field[1] !== null));
  }

  /** Goes on after a position. Its next frame may be long in coming, so the call is accepted before it. */
  #goOn({ meta }: Current, context: HandlerContext, kind: StreamKind, project: Projector): AsyncIterator<StreamResponse, undefined> {
    const { position } = resumeOf(context) as Resume;
    const seen = samePosition(position, meta.position);
    if (seen && isTerminal(meta.state)) throw ended(meta.id);
    context.values.get(acceptedKey)();
    // Its reader has seen the frame after which the stream of this send ended.
    if (seen && this.#endsAt(meta.state, kind, true)) return none();
    return this.#follow(meta.id, position, context, { kind, start: "position" }, project);
  }

  /** Who calls, which is settled before anything of the request is judged. */
  #caller({ tenant }: { readonly tenant: string }, context: HandlerContext): Caller {
    return callerOf(context, tenant, this.#init.ownerOf);
  }

  /** The task, if the caller may see it. */
  async #current({ id }: { readonly id: string }, scope: Scope, { values }: HandlerContext): Promise<Current> {
    const current = await this.#init.snapshots.current(id, scope);
    if (current === undefined) throw taskNotFound(id);
    values.get(observedKey)?.about(id, current.meta.contextId);
    return current;
  }

  /** Waits until the task is at rest. An error names the task: its caller may have no other way to find it. */
  async #untilAtRest(first: Snapshot, context: HandlerContext): Promise<Task> {
    if (isAtRest(stateOf(first.task))) return first.task;
    context.values.get(acceptedKey)();
    try {
      return await this.#rested(first, context.signal);
    } catch (error) {
      throw aboutTask(error, first.task.id);
    }
  }

  /** Follows the log until the task is at rest; only a state entered after the message counts (C-38). */
  async #rested(first: Snapshot, signal: AbortSignal): Promise<Task> {
    const taskId = first.task.id;
    const wait = this.#init.waits.open<Frame>({ ...this.#sources(), taskId, from: first.position, project: (frame) => frame, signal });
    for await (const frame of wait) {
      const state = frame.is === "event" ? stateAfter(frame.entry.event) : stateOf(frame.snapshot.task);
      if (state !== undefined && isAtRest(state)) return (await this.#init.snapshots.read(taskId)).task;
    }
    if (!signal.aborted) return (await this.#init.snapshots.read(taskId)).task;
    throw callEnded(signal, "the wait has ended; the task goes on", taskId);
  }

  #follow(
    taskId: string,
    from: Snapshot | Position,
    { signal, values }: HandlerContext,
    { kind, start: began }: { readonly kind: StreamKind; readonly start: StreamStart },
    project: Projector,
  ): AsyncIterator<StreamResponse, undefined> {
    const observed = values.get(observedKey);
    observed?.opened(began);
    const watched = observed && { onRewound: () => observed.rewound() };
    const endsAfter = (state: TaskState, start: boolean): boolean => this.#endsAt(state, kind, start);
    return this.#init.streams.open({ ...this.#sources(), taskId, from, project, endsAfter, signal, ...watched });
  }

  /** A stream of one frame. */
  #once({ values }: HandlerContext, frame: StreamResponse): AsyncIterator<StreamResponse, undefined> {
    values.get(observedKey)?.opened("send");
    return once(frame);
  }

  /**
   * Whether a stream of this kind ends at an interrupted state (C-02; docs/architecture.md). A subscription that begins there waits for what
   * comes; a send shows it first only where it is a repeat, or comes back, and the stream that it began has ended there.
   */
  #endsAt(state: TaskState, kind: StreamKind, start: boolean): boolean {
    const { closeOnInputRequired } = this.#init.options;
    if (state !== TaskState.INPUT_REQUIRED || closeOnInputRequired === "none") return false;
    return kind === "send" || (closeOnInputRequired === "all" && !start);
  }

  #sources(): Pick<ServiceInit, "storage" | "snapshots"> {
    return { storage: this.#init.storage, snapshots: this.#init.snapshots };
  }

  #requireStreaming(): void {
    if (this.#init.card.capabilities?.streaming === true) return;
    throw new TaskError("UNSUPPORTED_OPERATION", "this agent does not stream: send with SendMessage, read with GetTask");
  }
}

/** A stream that began with a send, or with SubscribeToTask. */
type StreamKind = "send" | "subscription";

type Projector = (frame: Frame) => StreamResponse;

/** How this call sees frames: with positions where it has activated the log extension, the task's history as long as it asked for. */
function projector(context: HandlerContext, historyLength?: number): Projector {
  const make = logActive(context) ? positionedFrame : plainFrame;
  if (historyLength === undefined) return make;
  return (frame) => {
    if (frame.is === "event") return make(frame);
    const { task, position } = frame.snapshot;
    return make({ is: "snapshot", snapshot: { task: withHistory(task, historyLength), position } });
  };
}

function ended(taskId: string): TaskError {
  return new TaskError("UNSUPPORTED_OPERATION", "the task has ended: read it with GetTask", { metadata: { taskId } });
}

async function* none(): AsyncGenerator<StreamResponse, undefined> {}

async function* once(frame: StreamResponse): AsyncGenerator<StreamResponse, undefined> {
  yield frame;
}
