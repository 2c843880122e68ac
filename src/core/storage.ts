/**
 * The port behind which the logs live. One adapter per store; every adapter passes the storage contract (`throughline/testing`).
 *
 * Every operation may be repeated after a lost reply and then answers as the first time: ids, marks and tokens are drawn before the
 * first attempt. A store never decodes bytes; what it must know of an entry, its writer says in the {@link Head}.
 */
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Entry, NewEntry, Position } from "./log-entry.ts";
import type { PushConfigRequest, PushConfigs } from "./push-configs.ts";
import type { Quotas } from "./quotas.ts";
import type { Scope } from "./scope.ts";
import type { Backlog } from "./telemetry.ts";

/** What a store knows of a task without decoding it; written with every event that changes the status. */
export interface Head {
  readonly state: TaskState;
  /** The status timestamp, in milliseconds since 1970. Never below the one before it in the same task. */
  readonly statusTime: number;
  /** Task bytes without artifacts and with the latest messages of `history`, at most {@link HEAD_HISTORY}: what lists show. */
  readonly task: Uint8Array;
  /** How many messages the whole `history` has. */
  readonly historyLength: number;
}

/** A replica's time-limited right to run a task. */
export interface Lease {
  readonly taskId: string;
  /** Grows by one at each acquisition. */
  readonly epoch: number;
  /** Random, drawn before the first attempt to acquire. */
  readonly token: string;
}

/** Asks for a lease along with another step. */
export interface LeaseRequest {
  readonly token: string;
  /** Who is to be told of commands. */
  readonly replica: string;
}

/** A repeated send is known by this row. */
export interface RepeatKey {
  /** Digest over scope, messageId and content, and the task id of a follow-up. */
  readonly key: string;
  /** The task that a follow-up names: its row lies beside it. */
  readonly taskId: string | undefined;
  /** `window`: any send within `windowMs` is a repeat. `running`: only while the task is not at rest. */
  readonly mode: "window" | "running";
  readonly windowMs: number;
}

/** The first send of a repeated one. */
export interface Repeat {
  readonly taskId: string;
  /** Offset of the last entry that the first send appended: its first frame is the fold up to here. */
  readonly offset: number;
}

/** Facts of a task by the store's own record. */
export interface TaskMeta {
  readonly id: string;
  readonly scope: Scope;
  readonly contextId: string;
  readonly state: TaskState;
  readonly statusTime: number;
  /** The last entry. */
  readonly position: Position;
  /** Count of events; what A2A 1.1 calls generation. */
  readonly generation: number;
  readonly epoch: number;
  /** Whether a lease is stored, expired or not. */
  readonly leased: boolean;
  /** Offset of the last command given to the agent; 0 for none. */
  readonly consumed: number;
  /** Offset of the last command in the log; 0 for none. */
  readonly lastCommand: number;
  /** Offset of the pending cancel request; 0 for none. */
  readonly cancelRequested: number;
  /** Acquisitions for a run since the last command was given. */
  readonly attempts: number;
  /** Whether the turn that was given the command at `consumed` has not come to rest since: a new owner would resume it. */
  readonly begun: boolean;
  /** Offset of the oldest entry still kept. */
  readonly firstOffset: number;
  /** The newest format in which anything of the task is stored; more than this version reads where a newer one has written to it. */
  readonly format: number;
}

/** Ready-made event, used only where the store finds that it is needed. */
export interface ReadyEvent {
  readonly entry: NewEntry;
  readonly head: Head;
}

/** A new task. */
export interface CreateRequest {
  readonly id: string;
  readonly scope: Scope;
  readonly contextId: string;
  readonly entries: readonly NewEntry[];
  readonly head: Head;
  readonly repeat: RepeatKey | undefined;
  /** Absent: the task waits in `ready`. */
  readonly lease: LeaseRequest | undefined;
  /** A webhook that came with the send. */
  readonly push?: PushConfigRequest | undefined;
}

/** `created` also answers a repeated attempt of the same creation; `repeat` names the task of an earlier send. */
export type CreateReply =
  | { readonly is: "created"; readonly entries: readonly Entry[]; readonly lease: Lease | undefined }
  | { readonly is: "repeat"; readonly repeat: Repeat };

/** What an owner appends. Frozen once sent, until the store answered. */
export interface Batch {
  readonly entries: readonly NewEntry[];
  /** Head after the last entry, where one of them changes the status. */
  readonly head: Head | undefined;
  /** The owner's last known position; the store answers STALE where the log has moved on. */
  readonly after: Position;
  /** Offset of the last command given to the agent. */
  readonly consumed: number;
  /** Refuse with PENDING while a command lies after `consumed`. */
  readonly unlessPending: boolean;
}

/** A command of a caller. */
export interface CommandRequest {
  readonly taskId: string;
  readonly entry: NewEntry;
  readonly what: "message" | "cancel";
  readonly repeat: RepeatKey | undefined;
  /** The caller's last known position; needed only where `working` or `canceled` is used, STALE where the log has moved on. */
  readonly after: Position;
  /** For a message to an interrupted task: WORKING, appended just before the message (C-38). */
  readonly working: ReadyEvent | undefined;
  /** For a cancel: CANCELED, appended after it where no one owns the task. */
  readonly canceled: ReadyEvent | undefined;
  /** For a message to an interrupted task that no one owns: the lease, else the task waits in `ready`. */
  readonly lease: LeaseRequest | undefined;
  /** A webhook that came with the message. */
  readonly push?: PushConfigRequest | undefined;
}

/** What became of a command. `offset` is that of the last entry it brought. */
export type CommandReply =
  | { readonly is: "appended"; readonly offset: number; readonly lease: Lease | undefined; readonly owned: boolean }
  | { readonly is: "repeat"; readonly repeat: Repeat };

/** A lease that `take` acquired. */
export interface Taken {
  readonly lease: Lease;
  readonly meta: TaskMeta;
}

/** One renewal. */
export interface Renewal {
  readonly lease: Lease;
  readonly consumed: number;
}

/**
 * `end` is the last entry of the log when the lease was renewed: what lies after the owner's position are commands that it has not heard of; an
 * end before it, or another history there, says that the store has lost entries. `unknown`: this part of the store is away.
 */
export type RenewReply = { readonly is: "held"; readonly end: Position } | { readonly is: "fenced" } | { readonly is: "unknown" };

/** What an owner still has of a log, for a store that may have lost its end. */
export interface Remains {
  /** Entries as they were stored, without a gap, the last of them the owner's position. */
  readonly entries: readonly Entry[];
  readonly head: Head;
  readonly consumed: number;
  /** Offset of the pending cancel request; 0 for none. */
  readonly cancelRequested: number;
}

/** `healed`: the log is what the owner had. `diverged`: other entries stand where the lost ones stood, or more was lost than remains. */
export type HealReply = "healed" | "diverged";

/** A step of a tail. `gone`: the position is no longer kept or belongs to another history; go on from a fresh snapshot. */
export type TailStep = { readonly is: "entries"; readonly entries: readonly Entry[] } | { readonly is: "gone" };

/** ListTasks' filters; all of them must hold. */
export interface ListFilter {
  readonly contextId: string | undefined;
  readonly state: TaskState | undefined;
  /** Status timestamps at or after this many milliseconds since 1970 (C-14). */
  readonly since: number | undefined;
}

/** A place in a list: the page begins after it. */
export interface ListCursor {
  readonly statusTime: number;
  readonly id: string;
}

/** A row of a list. */
export interface ListRow {
  readonly id: string;
  readonly head: Head;
}

/** A page of a list, newest status first, ids descending where the times are equal (C-13). */
export interface ListPage {
  readonly rows: readonly ListRow[];
  /** All tasks that the filter and the scope let through. */
  readonly total: number;
  readonly more: boolean;
}

/**
 * A hint that something happened. Lossy: renewals and sweeps are the truth. `back`: the store was away, and can be asked again.
 * `deliveries`: a step of this replica has brought something for the webhooks of a task.
 */
export type Hint =
  | { readonly is: "command"; readonly taskId: string }
  | { readonly is: "ready" }
  | { readonly is: "deliveries"; readonly taskId: string }
  | { readonly is: "back" };

/** A replica that listens, until it is disposed. */
export interface Listening extends Disposable {
  /** Settles when what is said from then on is heard. */
  readonly ready: Promise<void>;
}

/** A stored fold. */
export interface StoredCheckpoint {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

/** What a sweep found. */
export interface Swept {
  /** Tasks whose lease had expired and that went into `ready`. */
  readonly expired: number;
  /** Finished tasks removed after `retentionMs`. */
  readonly removed: number;
  /** Interrupted tasks older than `interruptedRetentionMs`: the worker ends them CANCELED. */
  readonly abandoned: readonly string[];
  /** What waits now, as far as the store could be asked. */
  readonly backlog: Backlog;
}

/** The store of logs, leases and indexes. Rejects with RefusedError, or TaskError where the store is away or full. */
export interface Storage extends PushConfigs, Deliveries, Quotas {
  /** Whether other replicas see it: without them, what a drain leaves waiting would be lost. */
  readonly shared: boolean;
  /** A fresh UUIDv7, carrying what the store needs to find the task again; the same `repeatKey` leads to the same shard. */
  newId(repeatKey: string): string;
  /** The first send of this key, judged by mode and window; undefined where there is none. */
  findRepeat(key: RepeatKey): Promise<Repeat | undefined>;
  /** Task, entries, index rows, dedupe row and lease appear together or not at all. */
  create(request: CreateRequest): Promise<CreateReply>;
  /** All entries appear together, in order. Refused FENCED, SEALED, PENDING or STALE. A terminal event ends the lease too. */
  append(lease: Lease, batch: Batch): Promise<readonly Entry[]>;
  /** Any replica. Refused SEALED or STALE. A living owner keeps its lease and is told. */
  command(request: CommandRequest): Promise<CommandReply>;
  /** The task's record; undefined where there is none. */
  meta(taskId: string): Promise<TaskMeta | undefined>;
  /** The latest checkpoint; undefined where there is none. */
  checkpointOf(taskId: string): Promise<StoredCheckpoint | undefined>;
  /** The next entries after a position, at most a page (500 entries or 1 MB); `gone` as in {@link TailStep}. */
  read(taskId: string, after: Position): Promise<TailStep>;
  /**
   * Every entry after a position, in order, no gap, no repeat, until the terminal event or the abort. After a `gone` step it ends.
   * Steps are only made when asked for: a slow reader falls behind in the log.
   */
  tail(taskId: string, after: Position, signal: AbortSignal): AsyncIterableIterator<TailStep>;
  /** Acquires waiting tasks, oldest first: the only way out of `ready`, but for a terminal entry. The same token gets the same tasks. */
  take(request: LeaseRequest, limit: number): Promise<readonly Taken[]>;
  /** Renews all leases at once, an expired one that nobody took as if in time. Answers in the order given. */
  renew(renewals: readonly Renewal[]): Promise<readonly RenewReply[]>;
  /** `rest` is refused PENDING while a command lies after `consumed`; `ready` never, and counts no attempt. Refused FENCED. */
  release(lease: Lease, to: "rest" | "ready", consumed: number): Promise<void>;
  /** Writes again, as they were, entries of the log's end that the store has lost. Refused FENCED or SEALED. */
  heal(lease: Lease, remains: Remains): Promise<HealReply>;
  /** Stores a fold, by the owner, or by anyone once sealed (no lease). Never backwards; trims what no resume window needs. */
  checkpoint(taskId: string, lease: Lease | undefined, checkpoint: StoredCheckpoint): Promise<void>;
  list(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): Promise<ListPage>;
  /** Expired leases into `ready`, finished tasks out, abandoned ones named. */
  sweep(): Promise<Swept>;
  /** Tells `hear` of commands for the tasks that this replica owns and of tasks that became ready, until disposed. */
  listen(replica: string, hear: (hint: Hint) => void): Listening;
  /** Whether calls are likely to succeed now. */
  available(): boolean;
  close(): Promise<void>;
}

/** Most messages of `history` that a {@link Head} carries; lists that ask for more read the task. */
export const HEAD_HISTORY = 32;
