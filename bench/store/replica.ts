/** One replica on a Redis store in this process, without sockets to callers: the real service, worker and store. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createContextValues, createHandlerContext, type HandlerContext } from "@connectrpc/connect";
import { toBinary } from "@bufbuild/protobuf";
import { A2AService, Role, StreamResponseSchema, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent } from "../../src/core/agent.ts";
import { Fold, headAfter } from "../../src/core/fold.ts";
import { newMark, type NewEntry } from "../../src/core/log-entry.ts";
import { ANONYMOUS } from "../../src/core/scope.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import type { CreateRequest } from "../../src/core/storage.ts";
import { SILENT, UNMEASURED } from "../../src/core/telemetry.ts";
import { ownedByName } from "../../src/rpc/auth/authenticate.ts";
import { principalKey } from "../../src/rpc/call-facts.ts";
import { resolveOptions, type ServerOptions } from "../../src/server/options.ts";
import { ServerWebhooks } from "../../src/server/webhooks.ts";
import { shareWriteBuffer } from "../../src/server/write-buffer.ts";
import { A2AServiceImpl } from "../../src/service/a2a-service.ts";
import { publicCard } from "../../src/service/agent-card.ts";
import { callDrained, streamDrained, Streams } from "../../src/service/streams.ts";
import { RedisStorage } from "../../src/storage/redis/index.ts";
import { LogWriter } from "../../src/worker/log-writer.ts";
import { RecentEntries } from "../../src/worker/recent-entries.ts";
import { Worker } from "../../src/worker/worker.ts";
import { benchAgent } from "../../examples/conformance-agent/bench-agent.ts";

// As in a server's process.
shareWriteBuffer();

const SCOPE = { tenant: "", owner: ANONYMOUS };

/** What a store is opened with for a row. */
export function storeOptions(): ServerOptions {
  return resolveOptions({ dedupe: { mode: "off" }, capacity: 10_000, renewMs: 5_000 });
}

/** Opens a store as a server does. */
export function openStore(url: string): Promise<RedisStorage> {
  const options = storeOptions();
  const warn = (message: string): void => void process.stderr.write(`${message}\n`);
  return RedisStorage.open({ ...options, ...options.redis, url }, { agent: "bench", warn });
}

/** A task that does not exist yet, as its first entry brings it. */
export function newTask(storage: RedisStorage, state: TaskState = TaskState.SUBMITTED, statusMs = Date.now()): CreateRequest {
  const contextId = crypto.randomUUID();
  const id = storage.newId(contextId);
  const message = {
    messageId: crypto.randomUUID(),
    taskId: id,
    contextId,
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: "events=3" } }],
  };
  const task = create(TaskSchema, { id, contextId, status: { state, timestamp: timestampFromMs(statusMs) }, history: [message] });
  const entries = [firstEntry(task)];
  return { id, scope: SCOPE, contextId, entries, head: headAfter(task, []), repeat: undefined, lease: undefined };
}

function firstEntry(task: Task): NewEntry {
  const event = create(StreamResponseSchema, { payload: { case: "task", value: task } });
  return { kind: "event", mark: newMark(), bytes: toBinary(StreamResponseSchema, event), content: event };
}

/** A replica at work. Disposing closes its store. */
export class Replica implements AsyncDisposable {
  readonly storage: RedisStorage;
  readonly snapshots: Snapshots;
  readonly service: A2AServiceImpl;
  readonly worker: Worker;
  readonly #options: ServerOptions;
  readonly #calls = new AbortController();

  private constructor(storage: RedisStorage, agent: Agent) {
    const options = storeOptions();
    this.#options = options;
    this.storage = storage;
    this.snapshots = new Snapshots(storage, options);
    const parts = { agent, log: SILENT, storage, snapshots: this.snapshots, options };
    this.worker = new Worker({ ...parts, measures: UNMEASURED, abandon: () => Promise.resolve() });
    this.service = new A2AServiceImpl({
      webhooks: new ServerWebhooks(options),
      ...parts,
      ownerOf: ownedByName,
      card: publicCard(agent.card, options, false),
      worker: this.worker,
      streams: new Streams(streamDrained),
      waits: new Streams(callDrained),
    });
  }

  static async open(url: string, agent: Agent = benchAgent): Promise<Replica> {
    return new Replica(await openStore(url), agent);
  }

  /** A new task and the writer of its lease, which nobody renews: for less than `leaseMs`. */
  async write(): Promise<LogWriter> {
    const lease = { token: newMark() + newMark(), replica: this.#options.replica };
    const reply = await this.storage.create({ ...newTask(this.storage), lease });
    if (reply.is !== "created" || reply.lease === undefined) throw new Error("the task was not created with a lease");
    const fold = new Fold(this.#options.historyLimit);
    for (const entry of reply.entries) fold.add(entry);
    const failed = (error: unknown): void => {
      throw new Error("a writer was closed", { cause: error });
    };
    return new LogWriter({
      storage: this.storage,
      lease: reply.lease,
      fold,
      consumed: 0,
      maxTaskBytes: this.#options.maxTaskBytes,
      maxEventBytes: this.#options.limits.eventBytes,
      measures: UNMEASURED,
      recent: new RecentEntries(this.#options.healWindowMs),
      refold: () => this.snapshots.fresh(lease.token),
      onCommand: () => undefined,
      onRewound: () => undefined,
      onTrouble: () => undefined,
      onState: () => undefined,
      onClosed: failed,
    });
  }

  /** The context of a call by nobody in particular. */
  context(method: keyof typeof A2AService.method, signal: AbortSignal = this.#calls.signal): HandlerContext {
    return createHandlerContext({
      service: A2AService,
      method: A2AService.method[method],
      protocolName: "in-process",
      requestMethod: "POST",
      url: `in-process:/${method}`,
      requestSignal: signal,
      contextValues: createContextValues().set(principalKey, { name: ANONYMOUS }),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#calls.abort();
    await this.worker.drain(AbortSignal.abort());
    await this.storage.close();
  }
}
