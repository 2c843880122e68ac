/** Who runs what: leases, the waiting room, and the replicas that listen. After every step a task that is not at rest is in one of both. */
import { RefusedError } from "../../core/errors.ts";
import type { Hint, Lease, LeaseRequest, Listening, Taken } from "../../core/storage.ts";
import type { TaskRecord } from "./task-record.ts";

/** The leases of the memory store. */
export class Leases {
  readonly #leaseMs: number;
  readonly #now: () => number;
  readonly #leased = new Set<TaskRecord>();
  /** In the order of waiting. */
  readonly #ready = new Set<TaskRecord>();
  readonly #takes = new Map<string, { readonly taken: readonly Taken[]; readonly expires: number }>();
  readonly #listeners = new Map<string, Set<(hint: Hint) => void>>();
  /** The token and epoch of the last release of a task: how a repeated release is known. */
  readonly #releases = new WeakMap<TaskRecord, Lease>();

  constructor(leaseMs: number, now: () => number) {
    this.#leaseMs = leaseMs;
    this.#now = now;
  }

  /** How many tasks wait for a replica. */
  get waiting(): number {
    return this.#ready.size;
  }

  /** Gives the lease to a replica: the epoch grows, one more attempt is counted. */
  grant(task: TaskRecord, { token, replica }: LeaseRequest): Lease {
    this.#ready.delete(task);
    task.epoch += 1;
    task.attempts += 1;
    task.lease = { epoch: task.epoch, token, replica, expires: this.#now() + this.#leaseMs };
    this.#leased.add(task);
    return { taskId: task.id, epoch: task.epoch, token };
  }

  /** Refuses FENCED unless the lease is the stored one. An expired lease that nobody took still holds. */
  hold(task: TaskRecord, lease: Lease): void {
    if (task.lease === undefined || task.lease.epoch !== lease.epoch || task.lease.token !== lease.token) throw new RefusedError("FENCED");
  }

  /** Whether somebody owns the task now. */
  isLive(task: TaskRecord): boolean {
    return task.lease !== undefined && task.lease.expires > this.#now();
  }

  /** Puts a task that nobody owns into `ready`. */
  wait(task: TaskRecord): void {
    this.#ready.add(task);
    for (const replica of this.#listeners.keys()) this.#hint(replica, { is: "ready" });
  }

  /** Takes the lease away; with `released`, its owner gave it back. */
  clear(task: TaskRecord, released?: Lease): void {
    task.lease = undefined;
    this.#leased.delete(task);
    if (released !== undefined) this.#releases.set(task, released);
  }

  /** Whether this lease was given back already. */
  released(task: TaskRecord, lease: Lease): boolean {
    const last = this.#releases.get(task);
    return last?.epoch === lease.epoch && last.token === lease.token;
  }

  /** The task is over: nobody owns it, nobody waits for it. */
  end(task: TaskRecord): void {
    this.clear(task);
    this.#ready.delete(task);
  }

  /** Acquires waiting tasks, oldest first. The same token gets the same answer. */
  take(request: LeaseRequest, limit: number): readonly Taken[] {
    const now = this.#now();
    for (const [token, { expires }] of this.#takes) {
      if (expires > now) break;
      this.#takes.delete(token);
    }
    const known = this.#takes.get(request.token);
    if (known !== undefined) return known.taken;
    const taken: Taken[] = [];
    for (const task of this.#ready) {
      if (taken.length >= limit) break;
      taken.push({ lease: this.grant(task, request), meta: task.meta() });
    }
    this.#takes.set(request.token, { taken, expires: now + this.#leaseMs });
    return taken;
  }

  /** Prolongs a lease; false where it is no longer the stored one. */
  renew(task: TaskRecord, { epoch, token }: Lease): boolean {
    if (task.lease === undefined || task.lease.epoch !== epoch || task.lease.token !== token) return false;
    task.lease.expires = this.#now() + this.#leaseMs;
    return true;
  }

  /** Moves tasks with an expired lease into `ready`; one at rest with nothing pending only loses the lease. Answers how many. */
  expire(): number {
    let expired = 0;
    for (const task of this.#leased) {
      if (this.isLive(task)) continue;
      this.clear(task);
      if (task.interrupted && task.lastCommand <= task.consumed) continue;
      this.wait(task);
      expired += 1;
    }
    return expired;
  }

  /** Tells the owner of a task that a command came. */
  tell(task: TaskRecord): void {
    if (task.lease !== undefined) this.#hint(task.lease.replica, { is: "command", taskId: task.id });
  }

  /** Registers a replica's ear. */
  listen(replica: string, hear: (hint: Hint) => void): Listening {
    const ears = this.#listeners.get(replica) ?? new Set();
    this.#listeners.set(replica, ears.add(hear));
    return {
      ready: Promise.resolve(),
      [Symbol.dispose]: () => {
        ears.delete(hear);
        if (ears.size === 0) this.#listeners.delete(replica);
      },
    };
  }

  /** Tells every replica. */
  tellAll(hint: Hint): void {
    for (const replica of this.#listeners.keys()) this.#hint(replica, hint);
  }

  #hint(replica: string, hint: Hint): void {
    const ears = this.#listeners.get(replica);
    for (const hear of ears ?? []) queueMicrotask(() => ears?.has(hear) === true && hear(hint));
  }
}
