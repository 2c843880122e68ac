/** A memory store that knows who owns what, so that one lease can be made to run out, and that keeps what it trims. */
import { type Entry, START } from "../core/log-entry.ts";
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
import { MemoryStorage, type MemoryStorageOptions } from "../storage/memory/memory-storage.ts";

/** Keeps the last lease and the whole log of each task. */
export class LeaseBook extends MemoryStorage {
  /** By all replicas of one harness. */
  override readonly shared: boolean = true;
  readonly #leases = new Map<string, Lease>();
  readonly #logs = new Map<string, Entry[]>();
  readonly #leaseMs: number;
  readonly #clock: { skewMs: number };

  constructor(options: Omit<MemoryStorageOptions, "now">) {
    const clock = { skewMs: 0 };
    super({ ...options, now: () => Date.now() + clock.skewMs });
    this.#clock = clock;
    this.#leaseMs = options.leaseMs;
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
    const taken = await super.take(request, limit);
    for (const { lease } of taken) this.#note(lease);
    return taken;
  }

  /**
   * Lets the lease of one task run out and gives the task, and whatever else waits, to another replica: one step, so that nobody is
   * quicker. Throws where nobody owns the task.
   */
  async expire(taskId: string, by: LeaseRequest): Promise<readonly Taken[]> {
    if ((await this.meta(taskId))?.leased !== true) throw new TypeError(`nobody owns the task ${taskId} now`);
    const others = [...this.#leases.values()].filter((lease) => lease.taskId !== taskId);
    this.#clock.skewMs += this.#leaseMs;
    // Not awaited one by one: each is done when it returns, and no other replica comes in between.
    const steps = [this.renew(others.map((lease) => ({ lease, consumed: 0, known: Infinity }))), this.sweep()];
    const taking = this.take(by, Infinity);
    await Promise.all(steps);
    return taking;
  }

  #note(lease: Lease | undefined): void {
    if (lease !== undefined) this.#leases.set(lease.taskId, lease);
  }
}
