/** The work of a replica: takes waiting tasks, runs them, renews their leases, sweeps, drains. */
import { isAway, isRefused } from "../core/errors.ts";
import { Fold } from "../core/fold.ts";
import { isNewer } from "../core/format.ts";
import { type Entry, newToken } from "../core/log-entry.ts";
import type { Hint, Lease, LeaseRequest, Taken } from "../core/storage.ts";
import type { LeaseContext, LeaseStart } from "./lease-context.ts";
import { LeasedTask } from "./leased-task.ts";
import { pause } from "../core/pause.ts";
import { untilAnswered } from "../core/retrying.ts";

/** Most tasks of one `take`. */
const TAKE_LIMIT = 32;

/** What the last append and the release of a task may take at the end of a drain. */
export const LAST_APPEND_MS = 1000;

/** Time between two looks for a send whose reply was lost. */
const LATE_MS = 250;

/** Most tasks that are remembered for a hint that came early. */
const MAX_EARLY = 1000;

/** serving: takes and runs; draining: takes nothing, hands over or finishes what runs; closed: owns nothing. */
export type WorkerState = "serving" | "draining" | "closed";

/** What a worker needs. `abandon` ends a task that nobody went on with, CANCELED. */
export interface WorkerInit extends LeaseContext {
  readonly abandon: (taskId: string) => Promise<void>;
}

/** A place for one turn, held until the task is created or the send has failed. */
export interface Reservation extends LeaseRequest, Disposable {}

/** Runs turns on this replica. */
export class Worker {
  readonly #init: WorkerInit;
  readonly #tasks = new Map<string, LeasedTask>();
  readonly #runs = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  /** Tasks that a command came for before their lease was begun here. */
  readonly #early = new Set<string>();
  #reserved = 0;
  /** Tasks that count against capacity. */
  #load = 0;
  #state: WorkerState = "serving";
  #ear: Disposable | undefined;
  #taking: Promise<void> | undefined;
  #takeAgain = false;
  /** Something may wait that there was no room for. */
  #starved = false;
  #drained: Promise<void> | undefined;
  /** Aborts when a drain waits for nothing any more. */
  readonly #late = new AbortController();
  /** Aborts a moment after that, for the last appends and releases. */
  readonly #last = new AbortController();

  constructor(init: WorkerInit) {
    this.#init = init;
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** Tasks that this replica owns now. */
  get owned(): number {
    return this.#tasks.size;
  }

  /** Begins to listen, renew, sweep and take. */
  start(): void {
    const { storage, options } = this.#init;
    this.#ear = storage.listen(options.replica, (hint) => this.#hear(hint));
    this.#every(options.renewMs, "renew", () => this.#renew());
    this.#every(options.sweepMs, "sweep", () => this.#sweep());
    this.wake();
  }

  /** Repeats a step; one that takes longer than its time is not begun a second time meanwhile. */
  #every(ms: number, what: string, step: () => Promise<void>): void {
    let running: Promise<void> | undefined;
    const timer = setInterval(() => {
      running ??= this.#guard(what, step).finally(() => {
        running = undefined;
      });
    }, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  /** How many more tasks this replica may begin to work on. */
  get #room(): number {
    const { capacity, maxOwnedTasks } = this.#init.options;
    return Math.min(capacity - this.#load, maxOwnedTasks - this.#tasks.size) - this.#reserved;
  }

  /** A place for a turn on this replica, where it has one; without it the task waits in `ready`. Dispose it when the send is over. */
  reserve(): Reservation | undefined {
    if (this.#state !== "serving" || this.#room <= 0) return undefined;
    this.#reserved += 1;
    let held = true;
    return {
      token: newToken(),
      replica: this.#init.options.replica,
      [Symbol.dispose]: () => {
        if (held) this.#reserved -= 1;
        held = false;
      },
    };
  }

  /** Runs a lease that a create or a command gave to this replica. The turn begins after the caller's first frame is out. */
  adopt(start: LeaseStart): void {
    const older = this.#tasks.get(start.lease.taskId);
    // A take or a send that is repeated tells of its lease again. The store would let both write.
    if (older !== undefined && older.lease.epoch === start.lease.epoch && older.lease.token === start.lease.token) return;
    const task = new LeasedTask(this.#init, start, (change) => this.#loaded(change));
    // An older lease of this replica on the same task is lost, and would not be renewed any more.
    older?.fence();
    this.#tasks.set(start.lease.taskId, task);
    if (this.#early.delete(start.lease.taskId)) task.hint();
    const run = this.#work(task).finally(() => {
      if (this.#tasks.get(start.lease.taskId) === task) this.#tasks.delete(start.lease.taskId);
      this.#runs.delete(run);
      task.done();
      if (this.#starved) this.wake();
    });
    this.#runs.add(run);
  }

  async #work(task: LeasedTask): Promise<void> {
    // Reserved before the drain began: another replica runs it.
    if (this.#state !== "serving") return task.handOver(this.#last.signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    setImmediate(resolve);
    await promise;
    await task.run();
  }

  /** Something may wait in `ready`. */
  wake(): void {
    if (this.#state !== "serving") return;
    this.#takeAgain = true;
    this.#taking ??= this.#guard("take", () => this.#take()).finally(() => {
      this.#taking = undefined;
      if (this.#takeAgain) this.wake();
    });
  }

  #loaded(change: 1 | -1): void {
    this.#load += change;
    if (change < 0 && this.#starved) this.wake();
  }

  /**
   * Hands over what can be resumed, gives the rest `drainMs`, then releases it. Idempotent. `skip` ends the waiting.
   */
  drain(skip?: AbortSignal): Promise<void> {
    this.#drained ??= this.#drain(skip);
    return this.#drained;
  }

  async #drain(skip: AbortSignal | undefined): Promise<void> {
    this.#state = "draining";
    const { drainMs } = this.#init.options;
    let last: NodeJS.Timeout | undefined;
    const late = (): void => {
      this.#late.abort();
      last ??= setTimeout(() => this.#last.abort(), LAST_APPEND_MS);
    };
    if (skip?.aborted === true) late();
    skip?.addEventListener("abort", late, { once: true });
    // What a store that is away keeps waiting is not waited for beyond this either.
    const limit = setTimeout(late, drainMs);
    await this.#taking;
    await Promise.all([...this.#tasks.values()].filter(({ movable }) => movable).map((task) => task.handOver(this.#last.signal)));
    const finished = new AbortController();
    const until = AbortSignal.any([finished.signal, this.#late.signal]);
    await Promise.race([Promise.all(this.#runs).finally(() => finished.abort()), pause(drainMs, until)]);
    // A moment for the last append and the release of what did not finish.
    const patience = AbortSignal.timeout(LAST_APPEND_MS);
    await Promise.all([...this.#tasks.values()].map((task) => task.handOver(patience)));
    await Promise.all(this.#runs);
    clearTimeout(limit);
    clearTimeout(last);
    skip?.removeEventListener("abort", late);
    this.#state = "closed";
    for (const timer of this.#timers) clearInterval(timer);
    this.#ear?.[Symbol.dispose]();
  }

  #hear(hint: Hint): void {
    if (hint.is === "ready") return this.wake();
    if (hint.is === "deliveries") return undefined;
    // The store was away: renew before anybody may think that this replica is gone.
    if (hint.is === "back") return void this.#guard("renew", () => this.#renew()).then(() => this.wake());
    const task = this.#tasks.get(hint.taskId);
    if (task !== undefined) return task.hint();
    // Hints are lossy, renewals are the truth: what is forgotten here is heard of a little later.
    if (this.#early.size >= MAX_EARLY) this.#early.clear();
    this.#early.add(hint.taskId);
    return undefined;
  }

  async #take(): Promise<void> {
    const { storage, options } = this.#init;
    while (this.#takeAgain && this.#state === "serving") {
      this.#takeAgain = false;
      const limit = Math.min(TAKE_LIMIT, this.#room);
      this.#starved = limit <= 0;
      if (this.#starved) return;
      // Reserved until they are begun: a send in the meantime must not take their places.
      this.#reserved += limit;
      // One token until it is answered: what a lost reply gave is given again.
      const request = { token: newToken(), replica: options.replica };
      try {
        const taken = await this.#untilAnswered(() => storage.take(request, limit));
        if (taken.length >= limit) this.#takeAgain = true;
        await Promise.all(taken.map((one) => this.#untilAnswered(() => this.#begin(one))));
      } finally {
        this.#reserved -= limit;
      }
    }
  }

  #untilAnswered<T>(step: () => Promise<T>): Promise<T> {
    return untilAnswered(step, () => this.#state !== "serving");
  }

  /**
   * Runs a step that may bring a lease for a reserved place, which is held until it is over. Where the step's reply was lost, `late` learns in
   * the background whether it was carried out, and begins its work: a lease that nobody knows of would run out first.
   */
  async using<T>(place: Reservation | undefined, step: () => Promise<T>, late: () => Promise<boolean>): Promise<T> {
    using held = new DisposableStack();
    if (place !== undefined) held.use(place);
    try {
      return await step();
    } catch (error) {
      if (place !== undefined && isAway(error) && error.outcomeUnknown)
        void this.#guard("learn what became of a send", () => this.#learn(late));
      throw error;
    }
  }

  /** What was sent may still be on its way; once its lease would have run out, it is of no use any more. */
  async #learn(late: () => Promise<boolean>): Promise<void> {
    const until = performance.now() + this.#init.options.leaseMs;
    while (!(await this.#untilAnswered(late)) && performance.now() < until && this.#state === "serving") await pause(LATE_MS);
  }

  /** Begins to work under a lease that a command brought. Waits for the store where that is away. */
  async begin(lease: Lease): Promise<void> {
    const { storage, snapshots } = this.#init;
    const [meta, fold] = await this.#untilAnswered(() =>
      Promise.all([storage.meta(lease.taskId), this.#readable(lease, 0, () => snapshots.fresh(lease.taskId))]),
    );
    if (fold !== undefined) this.adopt({ lease, fold, consumed: meta?.consumed ?? 0, attempts: 1, cancelRequested: false });
  }

  async #begin({ lease, meta }: Taken): Promise<void> {
    const { consumed, attempts, begun } = meta;
    const fold = await this.#readable(lease, consumed, () => this.#init.snapshots.fresh(lease.taskId));
    if (fold === undefined) return;
    this.adopt({ lease, fold, consumed, attempts, begun, cancelRequested: meta.cancelRequested > 0 });
  }

  /** What the log says; undefined where a newer version has written to it in the meantime: then the lease is given back for a replica of it. */
  async #readable(lease: Lease, consumed: number, read: () => Promise<Fold>): Promise<Fold | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isNewer(error)) throw error;
      await this.#init.storage.release(lease, "ready", consumed);
      return undefined;
    }
  }

  async #renew(): Promise<void> {
    const asked = [...this.#tasks.values()].map((task) => task.renewal());
    if (asked.length === 0) return;
    const { storage, measures } = this.#init;
    const replies = await storage.renew(asked.map(({ renewal }) => renewal)).catch((error: unknown) => {
      measures.renewed("failed", asked.length);
      throw error;
    });
    for (const [index, { renewed }] of asked.entries()) {
      const reply = replies[index];
      if (reply !== undefined) renewed(reply);
    }
  }

  async #sweep(): Promise<void> {
    const { abandoned, backlog } = await this.#init.storage.sweep();
    this.#init.measures.swept(backlog);
    for (const taskId of abandoned) await this.#init.abandon(taskId);
    this.wake();
  }

  async #guard(what: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (isAway(error) || isRefused(error, "SEALED")) return;
      this.#init.log.error({ error }, `the worker could not ${what}`);
    }
  }
}

/** The fold of a log that has just begun. */
export function foldOf(entries: readonly Entry[], historyLimit: number): Fold {
  const fold = new Fold(historyLimit);
  for (const entry of entries) fold.add(entry);
  return fold;
}
