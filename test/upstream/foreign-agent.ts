/** An agent of another make: it knows no repeats and tells no positions; a test says what it does, and what it cannot do. */
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  A2AService,
  type AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  type Message,
  type SendMessageRequest,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { apply, copyTask, isAtRest, isInterrupted, isTerminal, stateOf } from "../../src/core/task.ts";

/** What it can do. All but `subscribes`, `lists` and `tellsHistory` default to false or nothing. */
export interface ForeignOptions {
  readonly streaming?: boolean;
  /** Whether SubscribeToTask is there. */
  readonly subscribes?: boolean;
  readonly lists?: boolean;
  readonly tellsHistory?: boolean;
  /** Takes messages while it works. */
  readonly acceptsMessages?: boolean;
  readonly capabilities?: Omit<MessageInitShape<typeof AgentCapabilitiesSchema>, "$typeName">;
}

/** A task of its, in the hands of the test. */
export class ForeignTask {
  #task: Task;
  readonly messages: Message[];
  /** What waits for each reader. */
  readonly #readers = new Set<{ readonly queue: StreamResponse[]; wake: () => void }>();

  constructor(task: Task, message: Message) {
    this.#task = task;
    this.messages = [message];
  }

  get task(): Task {
    return copyTask(this.#task);
  }

  get state(): TaskState {
    return stateOf(this.#task);
  }

  /** A status, with what it says. */
  status(state: TaskState, text?: string): void {
    const message = text === undefined ? {} : { message: says(text) };
    this.#tell(
      create(StreamResponseSchema, { payload: { case: "statusUpdate", value: { ...this.#names, status: { state, ...message } } } }),
    );
  }

  /** A chunk of the artifact `a`; `unheard`: those who read are not told. */
  chunk(text: string, { append = true, unheard = false }: { readonly append?: boolean; readonly unheard?: boolean } = {}): void {
    const artifact = { artifactId: "a", parts: [{ content: { case: "text" as const, value: text } }] };
    const known = this.#task.artifacts.length > 0;
    const value = { ...this.#names, artifact, append: append && known };
    this.#tell(create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } }), unheard);
  }

  /** A message of its caller, which ends the wait. */
  goOn(message: Message): void {
    this.messages.push(message);
    this.#task.history.push(message);
    if (isInterrupted(this.state)) this.status(TaskState.WORKING);
  }

  /** Events from now on, as long as somebody reads. */
  async *events(signal: AbortSignal, ends: (state: TaskState) => boolean): AsyncGenerator<StreamResponse> {
    const reader = { queue: [] as StreamResponse[], wake: (): void => undefined };
    this.#readers.add(reader);
    try {
      for (;;) {
        const { promise, resolve } = Promise.withResolvers<void>();
        reader.wake = resolve;
        if (signal.aborted) return;
        signal.addEventListener("abort", () => resolve(), { once: true });
        const next = reader.queue.shift();
        if (next === undefined) {
          await promise;
          continue;
        }
        yield next;
        if (next.payload.case === "statusUpdate" && ends(next.payload.value.status?.state ?? TaskState.UNSPECIFIED)) return;
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  get #names(): { readonly taskId: string; readonly contextId: string } {
    return { taskId: this.#task.id, contextId: this.#task.contextId };
  }

  #tell(event: StreamResponse, unheard = false): void {
    this.#task = apply(this.#task, event).task;
    if (unheard) return;
    for (const reader of this.#readers) {
      reader.queue.push(event);
      reader.wake();
    }
  }
}

/** The agent on a port of its own, which speaks gRPC. */
export class ForeignAgent implements AsyncDisposable {
  readonly tasks = new Map<string, ForeignTask>();
  /** What was sent, with the header fields of the call. */
  readonly sends: { readonly message: Message; readonly metadata: JsonObject | undefined; readonly headers: Headers }[] = [];
  /** Ids that somebody asked to cancel. */
  readonly cancels: string[] = [];
  /** Awaited when a send has come, before it is answered. */
  onSend: (message: Message, context: HandlerContext) => Promise<Message | void> = async () => undefined;
  /** Awaited before any other call. */
  onCall: (method: string, context: HandlerContext) => Promise<void> = async () => undefined;
  readonly #options: ForeignOptions;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #waiting = new Set<() => void>();
  #count = 0;

  private constructor(options: ForeignOptions) {
    this.#options = options;
    this.#server = createServer(connectNodeAdapter({ routes: (router) => void router.service(A2AService, this.#service()) }));
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
    });
  }

  static async open(options: ForeignOptions = {}): Promise<ForeignAgent> {
    const agent = new ForeignAgent({ streaming: true, subscribes: true, lists: true, tellsHistory: true, ...options });
    await once(agent.#server.listen(0, "127.0.0.1"), "listening");
    return agent;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Its card, reached at a port. */
  card(port: number = this.port): AgentCard {
    const supportedInterfaces = [{ url: `127.0.0.1:${port}`, protocolBinding: "GRPC", protocolVersion: "1.0" }];
    const { streaming = false, capabilities } = this.#options;
    const own = { name: "foreign", description: "Of another make", version: "1", defaultInputModes: ["*/*"], defaultOutputModes: ["*/*"] };
    return create(AgentCardSchema, { ...own, supportedInterfaces, capabilities: { ...capabilities, streaming } });
  }

  /** The task of the send that came as the nth, from 1, as soon as it is there. */
  async task(nth: number): Promise<ForeignTask> {
    for (;;) {
      const task = [...this.tasks.values()][nth - 1];
      if (task !== undefined) return task;
      await this.#change();
    }
  }

  /** Resolves when what it has seen satisfies `seen`. */
  async until(seen: (agent: this) => boolean): Promise<void> {
    while (!seen(this)) await this.#change();
  }

  /** Breaks every connection. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.cut();
    await closed;
  }

  #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    return promise;
  }

  #changed(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #service(): Partial<ServiceImpl<typeof A2AService>> {
    const { subscribes = true, lists = true, streaming = true } = this.#options;
    return {
      sendMessage: async (request, context) => {
        const taken = await this.#take(request, context);
        return { payload: taken instanceof ForeignTask ? { case: "task", value: this.#shown(taken) } : { case: "message", value: taken } };
      },
      ...(streaming && { sendStreamingMessage: (request, context) => this.#stream(request, context) }),
      getTask: async ({ id }, context) => {
        await this.onCall("GetTask", context);
        return this.#shown(this.#find(id));
      },
      ...(subscribes && { subscribeToTask: ({ id }, context) => this.#subscribe(id, context) }),
      ...(lists && {
        listTasks: async ({ contextId }, context) => {
          await this.onCall("ListTasks", context);
          const tasks = [...this.tasks.values()].filter(({ task }) => task.contextId === contextId).map((one) => this.#shown(one));
          return { tasks, totalSize: tasks.length, pageSize: 100, nextPageToken: "" };
        },
      }),
      cancelTask: async ({ id }, context) => {
        await this.onCall("CancelTask", context);
        const task = this.#find(id);
        this.cancels.push(id);
        task.status(TaskState.CANCELED);
        this.#changed();
        return this.#shown(task);
      },
    };
  }

  async *#stream(request: SendMessageRequest, context: HandlerContext): AsyncGenerator<StreamResponse> {
    const taken = await this.#take(request, context);
    if (taken instanceof ForeignTask) yield* this.#read(taken, context.signal, isAtRest);
    else yield create(StreamResponseSchema, { payload: { case: "message", value: taken } });
  }

  async *#subscribe(id: string, context: HandlerContext): AsyncGenerator<StreamResponse> {
    await this.onCall("SubscribeToTask", context);
    const task = this.#find(id);
    if (isTerminal(task.state)) throw failure("UNSUPPORTED_OPERATION", Code.FailedPrecondition);
    yield* this.#read(task, context.signal, isTerminal);
  }

  async *#read(task: ForeignTask, signal: AbortSignal, ends: (state: TaskState) => boolean): AsyncGenerator<StreamResponse> {
    const events = task.events(signal, ends);
    // Its reader is there before the task is shown: nothing comes in between.
    let next = events.next();
    yield create(StreamResponseSchema, { payload: { case: "task", value: this.#shown(task) } });
    for (let step = await next; step.done !== true; step = await next) {
      next = events.next();
      yield step.value;
    }
  }

  /** The task of a message, or what it is answered with. */
  async #take({ message: given, metadata }: SendMessageRequest, context: HandlerContext): Promise<ForeignTask | Message> {
    const message = create(MessageSchema, given);
    this.sends.push({ message, metadata, headers: context.requestHeader });
    this.#changed();
    const direct = await this.onSend(message, context);
    if (direct !== undefined) return direct;
    if (message.taskId !== "") {
      const known = this.#find(message.taskId);
      if (!isInterrupted(known.state) && this.#options.acceptsMessages !== true)
        throw failure("UNSUPPORTED_OPERATION", Code.FailedPrecondition);
      known.goOn(message);
      return known;
    }
    this.#count += 1;
    const id = `f-${this.#count}`;
    const contextId = message.contextId || `c-${this.#count}`;
    const status = { state: TaskState.SUBMITTED };
    const task = new ForeignTask(create(TaskSchema, { id, contextId, status, history: [{ ...message, taskId: id, contextId }] }), message);
    this.tasks.set(id, task);
    this.#changed();
    return task;
  }

  #find(id: string): ForeignTask {
    const task = this.tasks.get(id);
    if (task === undefined) throw failure("TASK_NOT_FOUND", Code.NotFound);
    return task;
  }

  #shown({ task }: ForeignTask): Task {
    return this.#options.tellsHistory === false ? { ...task, history: [] } : task;
  }
}

/** An error as A2A has it. */
export function failure(reason: string, code: Code, message = reason.toLowerCase()): ConnectError {
  return new ConnectError(message, code, undefined, [{ desc: ErrorInfoSchema, value: { reason, domain: "a2a-protocol.org" } }]);
}

/** What an agent says. */
export function says(text: string): Message {
  return create(MessageSchema, { messageId: crypto.randomUUID(), role: Role.AGENT, parts: [{ content: { case: "text", value: text } }] });
}
