/** The client of an agent: one object, whatever binding carries its calls. */
import { create, type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AgentCard,
  AgentCardSchema,
  type ListTasksResponse,
  ListTasksRequestSchema,
  type Message,
  MessageSchema,
  Role,
  SendMessageConfigurationSchema,
  type Task,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "./a2a-error.ts";
import { type CardInput, CardSource } from "./card-source.ts";
import { type ClientOptionsInput, resolveClientOptions, type Wait } from "./client-options.ts";
import { type CallExtras, type CallInit, Connection } from "./connection.ts";
import { follow, type Until } from "./follow.ts";
import type { Endpoint } from "./interfaces.ts";
import { Waker } from "./pause.ts";
import { DELIVERY_HEADER, type PushDelivery, pushDeliveryOf } from "./push-delivery.ts";
import { send } from "./send.ts";
import { type RunInit, TaskRun } from "./task-run.ts";
import { ofTask, TaskView } from "./task-view.ts";

/** Pages of a list that are read: more than any task has webhooks. */
const MAX_PAGES = 1000;

/** What a call of the client may be given. */
export interface CallOptions {
  /** Ends the call; its reason is what the call rejects with. The task goes on. */
  readonly signal?: AbortSignal;
  /** Header fields, or gRPC metadata, of this call, and of every other that a run makes. */
  readonly headers?: Readonly<Record<string, string>>;
  /** URIs of extensions to activate in it, beside the client's. */
  readonly extensions?: readonly string[];
}

/** What a send may be given. */
export interface SendOptions extends CallOptions {
  /** Goes on with this task: the answer to what it asked, or a message while it works. */
  readonly taskId?: string;
  /** Begins a task in this context. */
  readonly contextId?: string;
  readonly configuration?: MessageInitShape<typeof SendMessageConfigurationSchema>;
  /** Of the request. */
  readonly metadata?: JsonObject;
  /** Default: the client's. */
  readonly wait?: Wait;
}

/** What a follow may be given. */
export interface FollowOptions extends CallOptions {
  /** What was read of the task before, by another client: `task` and `position` of its {@link TaskRun}. It goes on after that. */
  readonly known?: { readonly task: Task; readonly position: string };
  /** Where the run ends. `terminal`: it stays where the task waits for an authorization, say, that may come by another way (CL-07). Default `rest`. */
  readonly until?: Until;
}

/** A text, or a message whose id and role are filled in where they are left out. */
export type MessageInput = string | MessageInitShape<typeof MessageSchema>;

/** An agent's client. Disposing it closes its connections; tasks go on. */
export class A2AClient implements AsyncDisposable {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Opens a client of the agent at a URL (its base, or that of its card) or with a card that is known. Fetches the card and judges it;
   * throws A2AError where there is none to be had, or none that can be used.
   */
  static async connect(agent: CardInput, options: ClientOptionsInput & CallOptions = {}): Promise<A2AClient> {
    const { signal = new AbortController().signal, ...given } = options;
    const resolved = resolveClientOptions(given);
    const connection = new Connection(new CardSource(agent, resolved), resolved);
    try {
      await connection.card(signal);
    } catch (error) {
      await connection.close();
      signal.throwIfAborted();
      throw A2AError.from(error);
    }
    return new A2AClient(connection);
  }

  /** The agent's card, fetched again where it is due. */
  card({ signal }: CallOptions = {}): Promise<AgentCard> {
    return this.#connection.card(signal ?? this.#connection.life);
  }

  /** The interface that calls go to; undefined before the first one. */
  get endpoint(): Endpoint | undefined {
    return this.#connection.endpoint;
  }

  /** Sends a message; see {@link TaskRun}. It is made once: however often it is sent again, its `messageId` stays. */
  send(input: MessageInput, options: SendOptions = {}): TaskRun {
    const { wait = this.#connection.options.wait, metadata, configuration } = options;
    const abort = new AbortController();
    const signal = options.signal === undefined ? abort.signal : AbortSignal.any([abort.signal, options.signal]);
    const view = new TaskView();
    const waker = new Waker(this.#connection.life);
    const source = send({
      connection: this.#connection,
      message: messageOf(input, options),
      configuration: create(SendMessageConfigurationSchema, configuration),
      metadata,
      wait,
      view,
      signal,
      waker,
      extras: extrasOf(options),
    });
    return this.#run({ source, view, abort, waker }, options);
  }

  /** Follows a task that somebody has sent. One that has ended already is read, and that is its only event. */
  follow(taskId: string, options: FollowOptions = {}): TaskRun {
    const abort = new AbortController();
    const signal = options.signal === undefined ? abort.signal : AbortSignal.any([abort.signal, options.signal]);
    const view = new TaskView(taskId, options.known);
    const { until } = options;
    const waker = new Waker(this.#connection.life);
    const source = follow({ connection: this.#connection, taskId, view, signal, waker, until, extras: extrasOf(options) });
    return this.#run({ source, view, abort, waker }, options);
  }

  /** The task as it is now. */
  getTask(id: string, { historyLength, ...options }: CallOptions & { readonly historyLength?: number } = {}): Promise<Task> {
    return this.#call(options, async ({ calls, tenant, options: call }) =>
      ofTask(id, await calls.getTask({ id, tenant, ...(historyLength !== undefined && { historyLength }) }, call)),
    );
  }

  /** One page of the caller's tasks. */
  listTasks(
    filter: Omit<MessageInitShape<typeof ListTasksRequestSchema>, "$typeName" | "tenant"> = {},
    options: CallOptions = {},
  ): Promise<ListTasksResponse> {
    return this.#call(options, ({ calls, tenant, options: call }) =>
      calls.listTasks(create(ListTasksRequestSchema, { ...filter, tenant }), call),
    );
  }

  /** Asks the agent to stop; answers the task as it then is. A task that is canceled already is no error (C-21). */
  async cancelTask(id: string, options: CallOptions = {}): Promise<Task> {
    try {
      return await this.#call(options, async ({ calls, tenant, options: call }) =>
        ofTask(id, await calls.cancelTask({ id, tenant }, call)),
      );
    } catch (error) {
      if (!(error instanceof A2AError) || error.reason !== "TASK_NOT_CANCELABLE") throw error;
      const task = await this.getTask(id, options);
      if (task.status?.state === TaskState.CANCELED) return task;
      throw error;
    }
  }

  /** Registers a webhook for a task; one without an id is given one, and is registered twice where a lost reply made it be sent again. */
  createPushConfig(
    config: Omit<MessageInitShape<typeof TaskPushNotificationConfigSchema>, "$typeName" | "tenant">,
    options: CallOptions = {},
  ): Promise<TaskPushNotificationConfig> {
    const repeatable = config.id !== undefined && config.id !== "";
    return this.#call(
      options,
      ({ calls, tenant, options: call }) =>
        calls.createTaskPushNotificationConfig(create(TaskPushNotificationConfigSchema, { ...config, tenant }), call),
      repeatable,
    );
  }

  getPushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<TaskPushNotificationConfig> {
    return this.#call(options, ({ calls, tenant, options: call }) => calls.getTaskPushNotificationConfig({ taskId, id, tenant }, call));
  }

  /** How far a webhook is; undefined where the server does not tell: those of this project do. */
  async pushDelivery(taskId: string, id: string, options: CallOptions = {}): Promise<PushDelivery | undefined> {
    let delivery: PushDelivery | undefined;
    const onHeader = (header: Headers): void => void (delivery = pushDeliveryOf(header.get(DELIVERY_HEADER)));
    await this.#call(options, ({ calls, tenant, options: call }) =>
      calls.getTaskPushNotificationConfig({ taskId, id, tenant }, { ...call, onHeader }),
    );
    return delivery;
  }

  /** All webhooks of a task, page by page. Throws A2AError where the pages have no end. */
  async listPushConfigs(taskId: string, options: CallOptions = {}): Promise<TaskPushNotificationConfig[]> {
    const all: TaskPushNotificationConfig[] = [];
    let pageToken = "";
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await this.#call(options, ({ calls, tenant, options: call }) =>
        calls.listTaskPushNotificationConfigs({ taskId, tenant, pageToken }, call),
      );
      all.push(...page.configs);
      if (page.nextPageToken === "") return all;
      pageToken = page.nextPageToken;
    }
    throw new A2AError(new ConnectError(`the agent's list of webhooks does not end after ${MAX_PAGES} pages`, Code.DataLoss));
  }

  async deletePushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<void> {
    await this.#call(options, ({ calls, tenant, options: call }) => calls.deleteTaskPushNotificationConfig({ taskId, id, tenant }, call));
  }

  /** What the agent tells callers that it knows. Judged by `verifyCard` as every card is. */
  async extendedCard(options: CallOptions = {}): Promise<AgentCard> {
    const card = await this.#call(options, ({ calls, tenant, options: call }) => calls.getExtendedAgentCard({ tenant }, call));
    await this.#connection.options.verifyCard?.(card, toJson(AgentCardSchema, card));
    return card;
  }

  /** Ends what is open with an error, and closes the connections. Tasks go on. Idempotent. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run(run: Omit<RunInit, "cancel">, options: CallOptions): TaskRun {
    return new TaskRun({ ...run, cancel: (taskId) => this.cancelTask(taskId, extrasOf(options)) });
  }

  #call<T>(options: CallOptions, step: Parameters<typeof Connection.prototype.call<T>>[1], repeatable = true): Promise<T> {
    const init: CallInit = { ...extrasOf(options), signal: options.signal ?? this.#connection.life, repeatable };
    return this.#connection.call(init, step);
  }
}

function extrasOf({ headers, extensions }: CallOptions): CallExtras {
  return { ...(headers && { headers }), ...(extensions && { extensions }) };
}

/** The message as it goes out. */
function messageOf(input: MessageInput, { taskId, contextId }: SendOptions): Message {
  const init = typeof input === "string" ? { parts: [{ content: { case: "text" as const, value: input } }] } : input;
  const message = create(MessageSchema, init);
  const given = {
    messageId: message.messageId || crypto.randomUUID(),
    role: message.role === Role.UNSPECIFIED ? Role.USER : message.role,
    taskId: message.taskId || (taskId ?? ""),
    contextId: message.contextId || (contextId ?? ""),
  };
  return { ...message, ...given };
}
