/** The store in one process: the embedded default. Every operation is one synchronous step, so it is atomic. */
import { RefusedError, TaskError } from "../../core/errors.ts";
import { type Entry, type Position, START } from "../../core/log-entry.ts";
import type { Quota, Spent } from "../../core/quotas.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import type {
  Batch,
  CommandReply,
  CommandRequest,
  CreateReply,
  CreateRequest,
  Head,
  HealReply,
  Hint,
  Lease,
  LeaseRequest,
  ListCursor,
  ListFilter,
  ListPage,
  Listening,
  Renewal,
  RenewReply,
  Repeat,
  RepeatKey,
  Storage,
  StoredCheckpoint,
  Swept,
  Taken,
  TailStep,
  TaskMeta,
} from "../../core/storage.ts";
import { uuidv7 } from "../../core/uuid.ts";
import { MemoryDeliveries } from "./deliveries.ts";
import { MemoryWebhooks } from "./webhooks.ts";
import { Leases } from "./leases.ts";
import { MemoryQuotas } from "./memory-quotas.ts";
import { Repeats } from "./repeats.ts";
import { Retention } from "./retention.ts";
import { MemoryTail } from "./tail.ts";
import { TaskIndex } from "./task-index.ts";
import { type Place, placed, TaskRecord } from "./task-record.ts";

/** Bounds of the memory store. */
export interface MemoryStorageOptions {
  /** Bytes that all tasks may take, roughly. Beyond it tasks at rest are evicted, oldest first. Default 256 MiB. */
  readonly maxBytes: number;
  /** Finished tasks go after this long. Default 7 days. */
  readonly retentionMs: number;
  /** Interrupted tasks that nobody went on with are named by the sweep after this long. Default 30 days. */
  readonly interruptedRetentionMs: number;
  /** How long a lease lasts without renewal. Default 15 s. */
  readonly leaseMs: number;
  /** Entries that stay readable behind the last one. Default 1,000. */
  readonly windowEntries: number;
  /** Bytes of entries that stay readable. Default 1 MiB; the smaller of both counts. */
  readonly windowBytes: number;
  /** Bytes of a log that are kept for a webhook that lags behind. Default 16 MiB. */
  readonly webhookLagBytes?: number;
  /** The store's clock, in milliseconds since 1970. Default Date.now. */
  readonly now?: () => number;
}

const LAG_BYTES = 16 * 1024 * 1024;

/** Keeps every log in this process. */
export class MemoryStorage extends MemoryWebhooks implements Storage {
  readonly shared: boolean = false;
  readonly #options: MemoryStorageOptions;
  readonly #now: () => number;
  readonly #index = new TaskIndex();
  readonly #repeats: Repeats;
  readonly #leases: Leases;
  readonly #quotas: MemoryQuotas;

  constructor(options: MemoryStorageOptions) {
    const now = options.now ?? Date.now;
    super(new Retention(options, now), new MemoryDeliveries(options.leaseMs, now));
    this.#options = options;
    this.#now = now;
    this.#repeats = new Repeats(this.#now);
    this.#leases = new Leases(options.leaseMs, this.#now);
    this.#quotas = new MemoryQuotas(this.#now);
    this.deliveries.onDue = (taskId) => this.#leases.tellAll({ is: "deliveries", taskId });
  }

  newId(_repeatKey: string): string {
    return uuidv7(this.#now());
  }

  async findRepeat(key: RepeatKey): Promise<Repeat | undefined> {
    return this.#repeats.find(key, (taskId) => this.tasks.get(taskId));
  }

  async create(request: CreateRequest): Promise<CreateReply> {
    const known = this.tasks.get(request.id);
    if (known?.created !== undefined) {
      const lease = request.lease && { taskId: known.id, epoch: known.created.epoch, token: request.lease.token };
      return { is: "created", entries: placed(request.entries, known.created), lease };
    }
    const repeat = request.repeat && this.#repeats.find(request.repeat, (taskId) => this.tasks.get(taskId));
    if (repeat !== undefined) return { is: "repeat", repeat };
    if (!this.retention.makeRoom((task) => this.#remove(task))) {
      throw new TaskError("RESOURCE_EXHAUSTED", "the store is full of running tasks", { retryAfterMs: 1000 });
    }
    const task = new TaskRecord(request.id, request.scope, request.contextId, request.head);
    const lease = request.lease && this.#leases.grant(task, request.lease);
    if (request.push !== undefined) task.setPushConfig(request.push);
    const entries = this.#write(task, () => task.push(request.entries, this.#now()), request.head);
    task.created = placeOf(entries);
    if (request.push !== undefined) this.deliveries.attach(task, request.push.id, START);
    this.tasks.set(task.id, task);
    if (request.repeat !== undefined) this.#repeats.add(request.repeat, task, task.position.offset);
    if (lease === undefined && !task.terminal) this.#leases.wait(task);
    return { is: "created", entries, lease };
  }

  async append(lease: Lease, batch: Batch): Promise<readonly Entry[]> {
    const task = this.tasks.get(lease.taskId);
    if (task === undefined) throw new RefusedError("FENCED");
    const mark = batch.entries[0]?.mark ?? "";
    if (task.lastBatch?.mark === mark) return placed(batch.entries, task.lastBatch.place);
    if (task.terminal) throw new RefusedError("SEALED");
    this.#leases.hold(task, lease);
    this.#atPosition(task, batch.after);
    if (batch.unlessPending && task.lastCommand > batch.consumed) throw new RefusedError("PENDING");
    if (batch.head !== undefined && batch.head.statusTime < task.head.statusTime) throw new RefusedError("STALE");
    task.consume(batch.consumed);
    const entries = this.#write(task, () => task.push(batch.entries, this.#now()), batch.head);
    task.lastBatch = { mark, place: placeOf(entries) };
    return entries;
  }

  async command(request: CommandRequest): Promise<CommandReply> {
    const task = this.found(request.taskId);
    const repeat = request.repeat && this.#repeats.find(request.repeat, () => task);
    const known = task.answerTo(request.entry.mark);
    if (known !== undefined) return { is: "appended", ...known };
    if (repeat !== undefined) return { is: "repeat", repeat };
    if (task.terminal) throw new RefusedError("SEALED");
    const owned = this.#leases.isLive(task);
    const needs = request.what === "message" ? task.interrupted : !owned;
    const ready = request.what === "message" ? request.working : needs ? request.canceled : undefined;
    if (needs !== (ready !== undefined)) throw new RefusedError("STALE");
    if (ready !== undefined) {
      this.#atPosition(task, request.after);
      if (ready.head.statusTime < task.head.statusTime) throw new RefusedError("STALE");
    }
    if (request.push !== undefined) task.checkPushConfig(request.push);
    const ours = request.what === "message" && task.interrupted && !owned;
    if (ours) {
      this.#leases.clear(task);
      task.rest();
    }
    const lease = ours && request.lease !== undefined ? this.#leases.grant(task, request.lease) : undefined;
    const before = task.position;
    const entries = request.what === "message" ? [ready?.entry, request.entry] : [request.entry, ready?.entry];
    const written = this.#write(
      task,
      () =>
        task.push(
          entries.flatMap((entry) => entry ?? []),
          this.#now(),
        ),
      ready?.head,
    );
    if (request.push !== undefined) this.keep(task, request.push, before);
    const offset = written.at(-1)?.offset ?? 0;
    if (request.what === "cancel") task.cancelRequested = task.lastCommand;
    if (request.repeat !== undefined) this.#repeats.add(request.repeat, task, offset);
    const reply = { offset, lease, owned };
    task.remember(request.entry.mark, reply);
    if (owned) this.#leases.tell(task);
    else if (ours && lease === undefined) this.#leases.wait(task);
    return { is: "appended", ...reply };
  }

  async meta(taskId: string): Promise<TaskMeta | undefined> {
    return this.tasks.get(taskId)?.meta();
  }

  async checkpointOf(taskId: string): Promise<StoredCheckpoint | undefined> {
    return this.tasks.get(taskId)?.checkpoint;
  }

  async read(taskId: string, after: Position): Promise<TailStep> {
    return this.found(taskId).page(after);
  }

  tail(taskId: string, after: Position, signal: AbortSignal): AsyncIterableIterator<TailStep> {
    return new MemoryTail(taskId, after, signal, () => this.tasks.get(taskId));
  }

  async take(request: LeaseRequest, limit: number): Promise<readonly Taken[]> {
    return this.#leases.take(request, limit);
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewReply[]> {
    return renewals.map(({ lease, consumed }): RenewReply => {
      const task = this.tasks.get(lease.taskId);
      if (task === undefined || !this.#leases.renew(task, lease)) return { is: "fenced" };
      task.consume(consumed);
      return { is: "held", end: task.meta().position };
    });
  }

  async heal(lease: Lease): Promise<HealReply> {
    const task = this.tasks.get(lease.taskId);
    if (task === undefined) throw new RefusedError("FENCED");
    this.#leases.hold(task, lease);
    // What this process has stored, it keeps.
    return "healed";
  }

  async release(lease: Lease, to: "rest" | "ready", consumed: number): Promise<void> {
    const task = this.tasks.get(lease.taskId);
    if (task === undefined) throw new RefusedError("FENCED");
    if (this.#leases.released(task, lease)) return;
    this.#leases.hold(task, lease);
    if (to === "rest" && task.lastCommand > consumed) throw new RefusedError("PENDING");
    task.consume(consumed);
    this.#leases.clear(task, lease);
    if (to === "ready") task.attempts = Math.max(0, task.attempts - 1);
    // Whatever its owner thinks of it: a task that is not at rest is owned or waits.
    if (to === "ready" || !task.interrupted) this.#leases.wait(task);
  }

  async checkpoint(taskId: string, lease: Lease | undefined, checkpoint: StoredCheckpoint): Promise<void> {
    const task = this.found(taskId);
    if (lease === undefined || task.terminal) {
      if (!task.terminal) throw new RefusedError("FENCED");
    } else {
      this.#leases.hold(task, lease);
    }
    const { offset, mark } = checkpoint.position;
    const entry = task.entries[offset - task.firstOffset];
    if (entry?.mark !== mark) throw new RefusedError("STALE");
    if (offset <= (task.checkpoint?.position.offset ?? 0)) return;
    this.retention.account(task, () => {
      task.checkpoint = checkpoint;
      const { windowEntries, windowBytes, webhookLagBytes = LAG_BYTES } = this.#options;
      task.trim(windowEntries, windowBytes, this.deliveries.needed(task, webhookLagBytes));
    });
  }

  async list(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): Promise<ListPage> {
    const { ids, total, more } = this.#index.page(scopeKey(scope), filter, after, limit);
    const rows = ids.flatMap((id) => {
      const task = this.tasks.get(id);
      return task === undefined ? [] : [{ id, head: task.head }];
    });
    return { rows, total, more };
  }

  spend(key: string, quota: Quota, most: number): Promise<Spent> {
    return this.#quotas.spend(key, quota, most);
  }

  async sweep(): Promise<Swept> {
    const expired = this.#leases.expire();
    const { removed, abandoned } = this.retention.sweep(
      (task) => this.#remove(task),
      (task) => this.#leases.isLive(task),
    );
    return { expired, removed, abandoned, backlog: { waiting: this.#leases.waiting, due: this.deliveries.due } };
  }

  listen(replica: string, hear: (hint: Hint) => void): Listening {
    return this.#leases.listen(replica, hear);
  }

  available(): boolean {
    return true;
  }

  async close(): Promise<void> {
    for (const task of this.tasks.values()) task.publish();
  }

  /** One atomic step that changes a task: index row, byte count, lease and readers follow. */
  #write(task: TaskRecord, push: () => Entry[], head: Head | undefined): Entry[] {
    let entries: Entry[] = [];
    this.retention.account(task, () => {
      entries = push();
      if (head === undefined) return;
      this.#index.remove(task.scopeKey, task.row);
      task.head = head;
      if (task.interrupted) task.rest();
      this.#index.add(task.scopeKey, task.row);
    });
    if (task.terminal) this.#leases.end(task);
    this.deliveries.appended(task);
    task.publish();
    this.retention.makeRoom((other) => this.#remove(other), task);
    return entries;
  }

  #atPosition(task: TaskRecord, { offset, mark }: Position): void {
    if (task.position.offset !== offset || task.position.mark !== mark) throw new RefusedError("STALE");
  }

  #remove(task: TaskRecord): void {
    this.tasks.delete(task.id);
    this.#index.remove(task.scopeKey, task.row);
    this.#repeats.drop(task);
    this.#leases.end(task);
    this.deliveries.forget(task);
    task.publish();
  }
}

function placeOf(entries: readonly Entry[]): Place {
  const { offset = 0, epoch = 0, time = 0 } = entries[0] ?? {};
  return { offset, epoch, time };
}
