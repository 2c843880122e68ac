/** What the tests of the storage contract share: a store with a clock, and tasks whose state a test can follow. */
import assert from "node:assert/strict";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Role, StreamResponseSchema, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { CommandSchema, MemoSchema } from "../../../gen/throughline/v1/log_pb.ts";
import { RefusedError, type Refusal, TaskError } from "../../core/errors.ts";
import { type Entry, newMark, type NewEntry, type Position, START } from "../../core/log-entry.ts";
import type { Scope } from "../../core/scope.ts";
import type {
  Batch,
  CommandReply,
  CommandRequest,
  CreateRequest,
  Head,
  Lease,
  LeaseRequest,
  ReadyEvent,
  RepeatKey,
  Storage,
  TaskMeta,
} from "../../core/storage.ts";

/** What a test asks of the store that it opens. Times are short, so that a store whose clock cannot be moved passes in bearable time. */
export interface ContractOptions {
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number;
  /** When finished tasks go. */
  readonly retentionMs: number;
  /** When interrupted tasks are named by the sweep. */
  readonly interruptedRetentionMs: number;
  /** Entries that stay readable behind the last one. */
  readonly windowEntries: number;
  /** Bytes of entries that stay readable. */
  readonly windowBytes: number;
}

/** A fresh, empty store. */
export interface OpenedStore {
  readonly storage: Storage;
  /** Moves the store's clock. Absent: its clock is its own, and the suite waits for real. */
  readonly advance?: (ms: number) => Promise<void> | void;
}

/** Opens a fresh store. It is closed by the suite. */
export type OpenStore = (options: ContractOptions) => Promise<OpenedStore>;

const HOUR_MS = 3_600_000;

const DEFAULTS: ContractOptions = {
  leaseMs: HOUR_MS,
  retentionMs: HOUR_MS,
  interruptedRetentionMs: HOUR_MS,
  windowEntries: 1000,
  windowBytes: 1024 * 1024,
};

/** Who calls, where a test does not care. */
export const SCOPE: Scope = { tenant: "", owner: "anonymous" };

/** When the first status of every task was recorded, where a test does not care. */
export const EPOCH_MS = 1_700_000_000_000;

/** A lease request as a replica makes it. */
export function request(replica = "r1"): LeaseRequest {
  return { token: newMark() + newMark(), replica };
}

/** An event that changes no status. */
export function chunk(text = "chunk"): NewEntry {
  const artifact = { artifactId: "a", parts: [{ content: { case: "text" as const, value: text } }] };
  return event({ payload: { case: "artifactUpdate", value: { artifact, append: true } } });
}

/** A status event. */
export function status(state: TaskState, at: number = EPOCH_MS): NewEntry {
  return event({ payload: { case: "statusUpdate", value: { status: { state, timestamp: timestampFromMs(at) } } } });
}

/** A command that brings a message, or asks to cancel. */
export function command(what: "start" | "followUp" | "cancel", text = "hello"): NewEntry {
  const message = { messageId: newMark(), role: Role.USER, parts: [{ content: { case: "text" as const, value: text } }] };
  const content = create(CommandSchema, { kind: what === "cancel" ? { case: "cancel", value: {} } : { case: what, value: message } });
  return { kind: "command", mark: newMark(), bytes: toBinary(CommandSchema, content) };
}

/** What an agent leaves for its later turns. */
export function memo(value: JsonObject): NewEntry {
  return { kind: "memo", mark: newMark(), bytes: toBinary(MemoSchema, create(MemoSchema, { value })) };
}

function event(init: Parameters<typeof create<typeof StreamResponseSchema>>[1]): NewEntry {
  const content = create(StreamResponseSchema, init);
  return { kind: "event", mark: newMark(), bytes: toBinary(StreamResponseSchema, content) };
}

/** What a store is told of a task. */
function head(state: TaskState, statusTime: number = EPOCH_MS): Head {
  return { state, statusTime, task: toBinary(TaskSchema, create(TaskSchema, { status: { state } })), historyLength: 0 };
}

/** How a test's task begins. */
export interface Begin {
  readonly scope?: Scope;
  readonly contextId?: string;
  readonly state?: TaskState;
  readonly statusTime?: number;
  readonly lease?: LeaseRequest | undefined;
  readonly repeat?: RepeatKey;
}

/** An open store and the tasks made in it. */
export class Lab implements AsyncDisposable {
  readonly storage: Storage;
  readonly #advance: OpenedStore["advance"];

  private constructor({ storage, advance }: OpenedStore) {
    this.storage = storage;
    this.#advance = advance;
  }

  static async open(open: OpenStore, options: Partial<ContractOptions> = {}): Promise<Lab> {
    return new Lab(await open({ ...DEFAULTS, ...options }));
  }

  /** Lets time pass for the store. */
  async pass(ms: number): Promise<void> {
    if (this.#advance !== undefined) await this.#advance(ms);
    else await new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** A creation, not yet carried out. */
  creation(begin: Begin = {}): CreateRequest {
    const { scope = SCOPE, contextId = "context", state = TaskState.SUBMITTED, statusTime = EPOCH_MS, lease, repeat } = begin;
    const id = this.storage.newId(repeat?.key ?? newMark());
    const entries = [event({ payload: { case: "task", value: { id, contextId, status: { state } } } }), command("start")];
    return { id, scope, contextId, entries, head: head(state, statusTime), repeat, lease };
  }

  /** A task that exists, owned where a lease is asked for. */
  async begin(begin: Begin = {}): Promise<LabTask> {
    const creation = this.creation(begin);
    const reply = await this.storage.create(creation);
    assert.equal(reply.is, "created");
    assert.ok(reply.is === "created");
    return new LabTask(this.storage, creation.id, reply.entries.at(-1) as Entry, reply.lease, creation.head.statusTime);
  }

  /** A task that this replica owns. */
  owned(begin: Begin = {}): Promise<LabTask> {
    return this.begin({ lease: request(), ...begin });
  }

  /** A task that waits for its caller and that nobody owns. */
  async interrupted(begin: Begin = {}): Promise<LabTask> {
    const task = await this.owned(begin);
    await task.append([status(TaskState.INPUT_REQUIRED)], { state: TaskState.INPUT_REQUIRED, consumed: 2 });
    await this.storage.release(task.lease, "rest", 2);
    return task;
  }

  /** Waits for whatever waits in `ready`. */
  async takeAll(replica = "r1"): Promise<readonly string[]> {
    const taken = await this.storage.take(request(replica), 1000);
    return taken.map(({ lease }) => lease.taskId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.storage.close();
  }
}

/** What an append of a test may say. */
export interface AppendInit extends Partial<Pick<Batch, "after" | "consumed" | "unlessPending">> {
  readonly state?: TaskState;
  readonly statusTime?: number;
  readonly lease?: Lease;
}

/** A task as its writer knows it. */
export class LabTask {
  readonly id: string;
  readonly #storage: Storage;
  position: Position;
  statusTime: number;
  #lease: Lease | undefined;

  constructor(storage: Storage, id: string, { offset, mark }: Position, lease: Lease | undefined, statusTime: number) {
    this.#storage = storage;
    this.id = id;
    this.position = { offset, mark };
    this.statusTime = statusTime;
    this.#lease = lease;
  }

  get lease(): Lease {
    assert.ok(this.#lease !== undefined, "the task has an owner");
    return this.#lease;
  }

  set lease(lease: Lease) {
    this.#lease = lease;
  }

  /** Takes the task over, as another replica would. */
  async take(replica = "r2"): Promise<Lease> {
    const [taken, ...others] = await this.#storage.take(request(replica), 1);
    assert.equal(taken?.lease.taskId, this.id);
    assert.equal(others.length, 0);
    this.#lease = taken?.lease;
    return this.lease;
  }

  /** A batch at the end of the log. */
  batch(entries: readonly NewEntry[], init: AppendInit = {}): Batch {
    const { state, statusTime = this.statusTime, after = this.position, consumed = 0, unlessPending = false } = init;
    return { entries, head: state === undefined ? undefined : head(state, statusTime), after, consumed, unlessPending };
  }

  async append(entries: readonly NewEntry[], init: AppendInit = {}): Promise<readonly Entry[]> {
    const appended = await this.#storage.append(init.lease ?? this.lease, this.batch(entries, init));
    await this.look();
    return appended;
  }

  /** A command at the end of the log; by default one that the task's state needs nothing more for. */
  commandRequest(what: "message" | "cancel", init: Partial<CommandRequest> = {}): CommandRequest {
    const entry = command(what === "message" ? "followUp" : "cancel");
    const after = this.position;
    return { taskId: this.id, entry, what, repeat: undefined, after, working: undefined, canceled: undefined, lease: undefined, ...init };
  }

  /** WORKING or CANCELED, ready-made. */
  ready(state: TaskState): ReadyEvent {
    return { entry: status(state, this.statusTime), head: head(state, this.statusTime) };
  }

  /** A follow-up to the interrupted task. */
  async followUp(init: Partial<CommandRequest> = {}): Promise<Extract<CommandReply, { is: "appended" }>> {
    return this.command("message", { working: this.ready(TaskState.WORKING), ...init });
  }

  async command(what: "message" | "cancel", init: Partial<CommandRequest> = {}): Promise<Extract<CommandReply, { is: "appended" }>> {
    const reply = await this.#storage.command(this.commandRequest(what, init));
    assert.ok(reply.is === "appended");
    await this.look();
    return reply;
  }

  /** The store's record. */
  async meta(): Promise<TaskMeta> {
    const meta = await this.#storage.meta(this.id);
    assert.ok(meta !== undefined, "the task exists");
    return meta;
  }

  /** Takes the log's end as known. */
  async look(): Promise<void> {
    const { position, statusTime } = await this.meta();
    this.position = position;
    this.statusTime = statusTime;
  }

  /** Every entry after a position. */
  async entries(after: Position = START): Promise<Entry[]> {
    const found: Entry[] = [];
    for (;;) {
      const step = await this.#storage.read(this.id, found.at(-1) ?? after);
      assert.ok(step.is === "entries", "the position is kept");
      if (step.entries.length === 0) return found;
      found.push(...step.entries);
    }
  }

  /** All that a refused write must leave alone. */
  async everything(): Promise<unknown> {
    const { meta, entries } = { meta: await this.meta(), entries: await this.entries() };
    return { meta, entries: entries.map(({ offset, mark, epoch, kind, time }) => ({ offset, mark, epoch, kind, time })) };
  }
}

/** Whether a write is refused as said, and leaves everything as it was. */
export async function assertRefused(task: LabTask, refusals: Refusal | readonly Refusal[], write: () => Promise<unknown>): Promise<void> {
  const before = await task.everything();
  await assert.rejects(write, (error) => error instanceof RefusedError && [refusals].flat().includes(error.refusal));
  assert.deepEqual(await task.everything(), before);
}

/** Whether a call is answered TASK_NOT_FOUND. */
export async function assertNotFound(call: () => Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error) => error instanceof TaskError && error.reason === "TASK_NOT_FOUND");
}

/** Offset and mark of each entry. */
export function places(entries: readonly Position[]): { offset: number; mark: string }[] {
  return entries.map(({ offset, mark }) => ({ offset, mark }));
}
