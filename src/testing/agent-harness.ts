/** Runs an agent of one's own in process: the real service, worker and log, without a socket. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { createContextValues, createHandlerContext, type HandlerContext } from "@connectrpc/connect";
import {
  A2AService,
  type AgentCard,
  CancelTaskRequestSchema,
  type Message,
  MessageSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  type Task,
  type TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent } from "../core/agent.ts";
import { Follower, type Frame } from "../core/follow.ts";
import { type Entry, newMark } from "../core/log-entry.ts";
import { ANONYMOUS } from "../core/scope.ts";
import { Snapshots } from "../core/snapshots.ts";
import { isAtRest, stateAfter, stateOf } from "../core/task.ts";
import { type Log, SILENT, UNMEASURED } from "../core/telemetry.ts";
import { ownedByName } from "../rpc/auth/authenticate.ts";
import { extensionsKey, principalKey } from "../rpc/call-facts.ts";
import { resolveOptions, type ServerOptions, type ServerOptionsInput } from "../server/options.ts";
import { A2AServiceImpl } from "../service/a2a-service.ts";
import { publicCard } from "../service/agent-card.ts";
import { abandonTask } from "../service/cancel-task.ts";
import { callDrained, streamDrained, Streams } from "../service/streams.ts";
import { ServerWebhooks } from "../server/webhooks.ts";
import { Worker } from "../worker/worker.ts";
import { type ExpirableStore, memoryStore, redisStore } from "./expirable-store.ts";
import { LeaseBook } from "./lease-book.ts";

/** How the agent is run: the server's options, of which those about ports do nothing here, and a log. With `redis.url` tasks live there. */
export interface HarnessOptions extends ServerOptionsInput {
  /** Where the detail of what the agent throws goes. Default: nowhere. */
  readonly log?: Log;
}

/** What a call says besides its message. */
export interface CallInit {
  /** Who calls. Default `anonymous`. */
  readonly principal?: string;
  /** Metadata of the request. */
  readonly metadata?: JsonObject;
  /** Media types that the caller takes. Default: any. */
  readonly acceptedOutputModes?: readonly string[];
  /** URIs of the extensions that the call activates. Default: none. */
  readonly extensions?: readonly string[];
  /** Messages of `history` in the first frame. Default: all. */
  readonly historyLength?: number;
}

/** A text, or a message of which only `parts` is needed. */
export type MessageText = string | MessageInitShape<typeof MessageSchema>;

/** Starts an agent in this process. Dispose it at the end of the test: what still runs is aborted. */
export async function testAgent(agent: Agent, options: HarnessOptions = {}): Promise<AgentHarness> {
  const { log = SILENT, ...given } = options;
  const resolved = resolveOptions({ renewMs: 20, drainMs: 1000, ...given });
  const { url } = resolved.redis;
  const store = url === undefined ? memoryStore(resolved) : await redisStore(resolved, url, agent.card.name ?? "agent");
  return new AgentHarness(agent, resolved, { store, log });
}

/** A call that came to a replica has its turn there, whichever one serves by then. */
interface Replica {
  readonly worker: Worker;
  readonly service: A2AServiceImpl;
}

/** An agent at work in this process. */
export class AgentHarness implements AsyncDisposable {
  /** The store, for what the harness itself does not tell. */
  readonly storage: LeaseBook;
  readonly #agent: Agent;
  readonly #options: ServerOptions;
  readonly #log: Log;
  readonly #snapshots: Snapshots;
  readonly #card: AgentCard;
  readonly #replicas: Replica[] = [];
  readonly #calls = new AbortController();

  constructor(agent: Agent, options: ServerOptions, { store, log }: { readonly store: ExpirableStore; readonly log: Log }) {
    this.#agent = agent;
    this.#options = options;
    this.#log = log;
    const storage = new LeaseBook(store);
    this.storage = storage;
    this.#snapshots = new Snapshots(storage, options);
    this.#card = publicCard(agent.card, options, false);
    // An agent whose card says that it does not stream is tested as well as any other.
    if (this.#card.capabilities !== undefined) this.#card.capabilities.streaming = true;
    this.#addReplica();
  }

  /** The replica that runs what is sent now. */
  get worker(): Worker {
    return this.#present.worker;
  }

  get #present(): Replica {
    return this.#replicas.at(-1) as Replica;
  }

  /** Sends a message that begins a task, and answers when the task exists. Throws where the agent answered directly: see {@link ask}. */
  async send(message: MessageText, call: CallInit = {}): Promise<TaskHandle> {
    const context = this.#context(call, "sendStreamingMessage");
    const events = this.#present.service.sendStreamingMessage(sendRequest(message, call), context)[Symbol.asyncIterator]();
    const first = await events.next();
    if (first.done === true || first.value.payload.case !== "task") {
      throw new TypeError("no task began: ask() is for an agent that answers directly");
    }
    return new TaskHandle(this, first.value.payload.value, chain(first.value, events));
  }

  /** Sends a message and waits as SendMessage does: for the agent's direct answer, or for the task at rest. */
  async ask(message: MessageText, call: CallInit = {}): Promise<Message | Task> {
    const { payload } = await this.#present.service.sendMessage(sendRequest(message, call), this.#context(call, "sendMessage"));
    if (payload?.case === "message") return create(MessageSchema, payload.value);
    return payload?.value as Task;
  }

  /** Asks for the end of a task; answers as CancelTask does. */
  cancel(taskId: string, call: CallInit = {}): Promise<Task> {
    const request = create(CancelTaskRequestSchema, { id: taskId, ...(call.metadata && { metadata: call.metadata }) });
    return this.#present.service.cancelTask(request, this.#context(call, "cancelTask"));
  }

  /** The task as it is now. */
  async read(taskId: string): Promise<Task> {
    return (await this.#snapshots.read(taskId)).task;
  }

  /** The task as soon as it is at rest: terminal, or waiting for its caller. */
  async atRest(taskId: string): Promise<Task> {
    const { signal } = this.#calls;
    const from = await this.#snapshots.read(taskId);
    const sources = { storage: this.storage, snapshots: this.#snapshots };
    for await (const state of new Follower({ ...sources, taskId, from, project: stateOfFrame, signal })) {
      if (state !== undefined && isAtRest(state)) break;
    }
    signal.throwIfAborted();
    return this.read(taskId);
  }

  /**
   * A crash, as far as the task can tell: the lease of its turn runs out and another replica takes it over, with the next epoch. An agent
   * that is `resumable` is run again there with `resumed: true`, any other task ends FAILED; the old turn is aborted with `lease-lost`.
   */
  async takeOver(taskId: string): Promise<void> {
    const taken = await this.storage.expire(taskId, this.#addReplica());
    for (const { lease, meta } of taken) {
      const { consumed, attempts, begun, cancelRequested } = meta;
      const fold = await this.#snapshots.fresh(lease.taskId);
      this.worker.adopt({ lease, fold, consumed, attempts, begun, cancelRequested: cancelRequested > 0 });
    }
  }

  /** A drain: what this replica runs is handed over or finished, and another replica serves from now on. */
  drain(): Promise<void> {
    const leaving = this.worker;
    this.#addReplica();
    return leaving.drain();
  }

  /** Every entry of a task's log, commands included, trimmed ones too. */
  log(taskId: string): Promise<readonly Entry[]> {
    return this.storage.logOf(taskId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#calls.abort();
    await Promise.all(this.#replicas.map(({ worker }) => worker.drain(AbortSignal.abort())));
    await this.storage.close();
  }

  #addReplica(): { token: string; replica: string } {
    const replica = `replica-${this.#replicas.length + 1}`;
    const { storage } = this;
    const options = { ...this.#options, replica };
    const sources = { agent: this.#agent, log: this.#log, measures: UNMEASURED, storage, snapshots: this.#snapshots, options };
    const abandon = (taskId: string): Promise<void> => abandonTask(sources, taskId);
    const worker = new Worker({ ...sources, abandon });
    const service = new A2AServiceImpl({
      ...sources,
      webhooks: new ServerWebhooks(options),
      ownerOf: ownedByName,
      card: this.#card,
      streams: new Streams(streamDrained),
      waits: new Streams(callDrained),
      worker,
    });
    this.#replicas.push({ worker, service });
    worker.start();
    return { token: newMark() + newMark(), replica };
  }

  #context({ principal = ANONYMOUS, extensions = [] }: CallInit, method: keyof typeof A2AService.method): HandlerContext {
    return createHandlerContext({
      service: A2AService,
      method: A2AService.method[method],
      protocolName: "in-process",
      requestMethod: "POST",
      url: `in-process:/${method}`,
      requestSignal: this.#calls.signal,
      contextValues: createContextValues().set(principalKey, { name: principal }).set(extensionsKey, new Set(extensions)),
    });
  }
}

/** One send and what came of it. */
export class TaskHandle {
  readonly taskId: string;
  readonly contextId: string;
  /** The first frame's task. */
  readonly first: Task;
  /** What SendStreamingMessage streams: the task, then every event. To be read once, now or later; nothing is lost meanwhile. */
  readonly events: AsyncIterable<StreamResponse>;
  readonly #harness: AgentHarness;

  constructor(harness: AgentHarness, first: Task, events: AsyncIterable<StreamResponse>) {
    this.#harness = harness;
    this.first = first;
    this.taskId = first.id;
    this.contextId = first.contextId;
    this.events = events;
  }

  /** The task as soon as it is at rest. */
  task(): Promise<Task> {
    return this.#harness.atRest(this.taskId);
  }

  /** Sends the next message on this task. Its events are the new handle's. */
  followUp(message: MessageText, call: CallInit = {}): Promise<TaskHandle> {
    const init = typeof message === "string" ? { parts: [{ content: { case: "text" as const, value: message } }] } : message;
    return this.#harness.send({ ...init, taskId: this.taskId }, call);
  }

  /** Asks for the end of the task; answers as CancelTask does. */
  cancel(call: CallInit = {}): Promise<Task> {
    return this.#harness.cancel(this.taskId, call);
  }
}

function stateOfFrame(frame: Frame): TaskState | undefined {
  return frame.is === "snapshot" ? stateOf(frame.snapshot.task) : stateAfter(frame.entry.event);
}

function sendRequest(message: MessageText, { metadata, acceptedOutputModes, historyLength }: CallInit): SendMessageRequest {
  const init = typeof message === "string" ? { parts: [{ content: { case: "text" as const, value: message } }] } : message;
  const whole = create(MessageSchema, init);
  if (whole.messageId === "") whole.messageId = crypto.randomUUID();
  if (whole.role === Role.UNSPECIFIED) whole.role = Role.USER;
  const configuration = { acceptedOutputModes: [...(acceptedOutputModes ?? [])], ...(historyLength !== undefined && { historyLength }) };
  return create(SendMessageRequestSchema, { message: whole, configuration, ...(metadata && { metadata }) });
}

async function* chain(first: StreamResponse, rest: AsyncIterator<StreamResponse>): AsyncGenerator<StreamResponse> {
  try {
    yield first;
    for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}
