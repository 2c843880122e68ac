/** A store that knows who owns what, so that one lease can be made to run out, and that keeps what it trims. */
import { type Entry, newMark, START } from "../core/log-entry.ts";
import type {
  CommandReply,
  CommandRequest,
  CreateReply,
  CreateRequest,
  Lease,
  LeaseRequest,
  StoredCheckpoint,
  Taken,
} from "../core/storage.ts";
import { type ExpirableStore, memoryStore, type MemoryStoreOptions } from "./expirable-store.ts";
import { RelayedStorage } from "./relayed-storage.ts";

/** More than any test has waiting. */
const TAKE_ALL = 1000;

/** Keeps the last lease and the whole log of each task. */
export class LeaseBook extends RelayedStorage {
  /** By all replicas of one harness. */
  override readonly shared: boolean = true;
  readonly #leases = new Map<string, Lease>();
  readonly #logs = new Map<string, Entry[]>();
  readonly #store: ExpirableStore;
  /** Takes under way. */
  readonly #takes = new Set<Promise<unknown>>();
  /** While a lease is made to run out: until then nobody else takes. */
  #expired: Promise<void> | undefined;

  /** In front of a store, or of a memory store of its own. */
  constructor(store: ExpirableStore | MemoryStoreOptions) {
    const own = "storage" in store ? store : memoryStore(store);
    super(own.storage);
    this.#store = own;
  }

  override async create(request: CreateRequest): Promise<CreateReply> {
    const reply = await super.create(request);
    if (reply.is === "created") this.#note(reply.lease);
    return reply;
  }

  override async command(request: CommandRequest): Promise<CommandReply> {
    const reply = await super.command(request);
    if (reply.is === "appended") this.#note(reply.lease);
    return reply;
  }

  override async checkpoint(taskId: string, lease: Lease | undefined, checkpoint: StoredCheckpoint): Promise<void> {
    // Only checkpoints trim: what is read before one is all there is.
    await this.logOf(taskId);
    return super.checkpoint(taskId, lease, checkpoint);
  }

  /** Every entry that the log has ever held. */
  async logOf(taskId: string): Promise<readonly Entry[]> {
    const log = this.#logs.get(taskId) ?? [];
    this.#logs.set(taskId, log);
    for (;;) {
      const step = await this.read(taskId, log.at(-1) ?? START);
      // Somebody else may have read the same page meanwhile.
      const fresh = step.is === "gone" ? [] : step.entries.filter(({ offset }) => offset > log.length);
      if (fresh.length === 0) return log;
      log.push(...fresh);
    }
  }

  /** The last lease that was given on a task. */
  leaseOf(taskId: string): Lease | undefined {
    return this.#leases.get(taskId);
  }

  override async take(request: LeaseRequest, limit: number): Promise<readonly Taken[]> {
    while (this.#expired !== undefined) await this.#expired;
    const taking = super.take(request, limit);
    this.#takes.add(taking);
    try {
      return this.#noteTaken(await taking);
    } finally {
      this.#takes.delete(taking);
    }
  }

  /**
   * Lets the lease of one task run out and gives the task, and whatever else waits, to another replica; nobody is quicker. Throws where
   * nobody owns the task.
   */
  async expire(taskId: string, by: LeaseRequest): Promise<readonly Taken[]> {
    if (!(await this.#isLeased(taskId))) throw new TypeError(`nobody owns the task ${taskId} now`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#expired = promise;
    try {
      await Promise.allSettled(this.#takes);
      const taken: Taken[] = [];
      let request = by;
      do {
        await this.#store.expire(
          taskId,
          [...this.#leases.values()].filter((lease) => lease.taskId !== taskId),
        );
        // Also tells the store that something waits.
        await this.sweep();
        taken.push(...this.#noteTaken(await super.take(request, TAKE_ALL)));
        // The owner may have renewed its lease in between.
        request = { ...by, token: newMark() + newMark() };
      } while (!taken.some(({ lease }) => lease.taskId === taskId) && (await this.#isLeased(taskId)));
      return taken;
    } finally {
      this.#expired = undefined;
      resolve();
    }
  }

  async #isLeased(taskId: string): Promise<boolean> {
    return (await this.meta(taskId))?.leased === true;
  }

  #noteTaken(taken: readonly Taken[]): readonly Taken[] {
    for (const { lease } of taken) this.#note(lease);
    return taken;
  }

  #note(lease: Lease | undefined): void {
    if (lease !== undefined) this.#leases.set(lease.taskId, lease);
  }
}
