/** Folded tasks of one replica: caches over the log, never a second truth. */
import { TaskError, taskNotFound } from "./errors.ts";
import { newerVersion, READS } from "./format.ts";
import { Fold, type Snapshot } from "./fold.ts";
import { type Position, samePosition } from "./log-entry.ts";
import { type Scope, scopeKey } from "./scope.ts";
import type { Storage, TaskMeta } from "./storage.ts";
import { type Measures, UNMEASURED } from "./telemetry.ts";
import { Turns } from "./turns.ts";

/** How {@link Snapshots} is bounded. */
export interface SnapshotOptions {
  /** Encoded bytes of the folds kept, roughly. */
  readonly cacheBytes: number;
  /** Messages that `history` keeps. */
  readonly historyLimit: number;
}

/** A task as the store has it now. */
export interface Current {
  readonly meta: TaskMeta;
  readonly snapshot: Snapshot;
}

/** A cold read starts again when entries or checkpoint parts go while it reads; this often, then it gives up. */
const MAX_RESTARTS = 20;

/** What a fold takes in memory besides its encoded bytes, roughly: most tasks are small, and a cache of them would be many times its bound. */
const FOLD_OVERHEAD = 4096;

/** Cold reads at once: they share a connection and the memory of this replica with everything else. */
const COLD_READS = 4;

/** Reads tasks. Each read first asks the store for the task's position, so that it reflects all that was appended before it began. */
export class Snapshots {
  readonly #storage: Storage;
  readonly #options: SnapshotOptions;
  readonly #measures: Measures;
  // Insertion order is the order of use: the first is the one to drop.
  readonly #folds = new Map<string, { fold: Fold; bytes: number }>();
  readonly #reading = new Map<string, Promise<Fold>>();
  readonly #cold = new Turns(COLD_READS);
  #bytes = 0;

  constructor(storage: Storage, options: SnapshotOptions, measures: Measures = UNMEASURED) {
    this.#storage = storage;
    this.#options = options;
    this.#measures = measures;
  }

  /**
   * The task now; undefined where the store has none. With a scope: of that scope. Nothing is read of a task of another one, so that its
   * answer takes no longer than that of a task which is not there. Throws NEWER_VERSION where this version cannot read it.
   */
  async current(taskId: string, scope?: Scope): Promise<Current | undefined> {
    let meta = await this.#storage.meta(taskId);
    if (meta !== undefined && this.#isAhead(taskId, meta.position)) {
      // Another reader has folded in what came since, or the store has lost it: only a later look can tell.
      meta = await this.#storage.meta(taskId);
      if (meta !== undefined && this.#isAhead(taskId, meta.position)) this.#drop(taskId);
    }
    if (meta === undefined || (scope !== undefined && scopeKey(meta.scope) !== scopeKey(scope))) return undefined;
    if (meta.format > READS) throw newerVersion(taskId);
    try {
      return { meta, snapshot: await this.#read(taskId, meta.position) };
    } catch (error) {
      // It went, with all that it had, since its record was read.
      if (error instanceof TaskError && error.reason === "TASK_NOT_FOUND") return undefined;
      throw error;
    }
  }

  #isAhead(taskId: string, { offset }: Position): boolean {
    return (this.#folds.get(taskId)?.fold.position.offset ?? 0) > offset;
  }

  /** The task now. Throws TASK_NOT_FOUND. */
  async read(taskId: string): Promise<Snapshot> {
    const current = await this.current(taskId);
    if (current === undefined) throw taskNotFound(taskId);
    return current.snapshot;
  }

  /** The fold of exactly the entries 1..offset, or of more where those are no longer all kept. */
  async upTo(taskId: string, offset: number): Promise<Snapshot> {
    const known = this.#folds.get(taskId)?.fold;
    // A fold that stands there already may be of another history, which the store has lost since.
    const doubtful = known?.position.offset === offset && (await this.#storage.read(taskId, known.position)).is === "gone";
    if (known !== undefined && !doubtful && known.position.offset <= offset) {
      await this.#advance(taskId, known, offset);
      if (known.position.offset === offset) return known.snapshot();
    }
    const checkpoint = await this.#storage.checkpointOf(taskId);
    const usable = checkpoint !== undefined && checkpoint.position.offset <= offset;
    const fold = usable ? Fold.restore(checkpoint, this.#options.historyLimit) : new Fold(this.#options.historyLimit);
    if (await this.#advance(taskId, fold, offset)) return fold.snapshot();
    return this.read(taskId);
  }

  /** Forgets a task. */
  #drop(taskId: string): void {
    const kept = this.#folds.get(taskId);
    if (kept === undefined) return;
    this.#folds.delete(taskId);
    this.#bytes -= kept.bytes;
  }

  /** A fold of its own for a replica that takes the task over: it is not shared, its reader may add to it. */
  async fresh(taskId: string): Promise<Fold> {
    using _turn = await this.#cold.turn();
    for (let restart = 0; restart < MAX_RESTARTS; restart += 1) {
      const checkpoint = await this.#storage.checkpointOf(taskId);
      const limit = this.#options.historyLimit;
      const fold = checkpoint === undefined ? new Fold(limit) : Fold.restore(checkpoint, limit);
      if (await this.#advance(taskId, fold, Infinity)) return fold;
    }
    throw taskNotFound(taskId);
  }

  async #read(taskId: string, target: Position): Promise<Snapshot> {
    const known = this.#folds.get(taskId)?.fold;
    if (known !== undefined) {
      // At the same offset the mark tells whether it is the same history.
      const same = known.position.offset !== target.offset || known.position.mark === target.mark;
      if (same && (known.position.offset >= target.offset || (await this.#advance(taskId, known, Infinity)))) {
        this.#measures.snapshotRead(true);
        return this.#keep(taskId, known).snapshot();
      }
      this.#drop(taskId);
    }
    this.#measures.snapshotRead(false);
    return (await this.#shared(taskId, target)).snapshot();
  }

  /** A cold read that all who ask for the same task meanwhile share. It began before they asked: they look whether more has come since. */
  async #shared(taskId: string, target: Position): Promise<Fold> {
    let reading = this.#reading.get(taskId);
    const joined = reading !== undefined;
    reading ??= this.fresh(taskId).finally(() => this.#reading.delete(taskId));
    this.#reading.set(taskId, reading);
    const fold = await reading;
    if (!joined || samePosition(fold.position, target)) return this.#keep(taskId, fold);
    return (await this.#advance(taskId, fold, Infinity)) ? this.#keep(taskId, fold) : this.#keep(taskId, await this.fresh(taskId));
  }

  /** Adds the entries after the fold's position, up to `offset`. False where they are gone. */
  async #advance(taskId: string, fold: Fold, offset: number): Promise<boolean> {
    while (fold.position.offset < offset) {
      const step = await this.#storage.read(taskId, fold.position);
      if (step.is === "gone") return false;
      for (const entry of step.entries) {
        // Two readers may advance the same fold: what the other has added is passed over.
        if (entry.offset > fold.position.offset && entry.offset <= offset) fold.add(entry);
      }
      if (step.entries.length === 0) return fold.position.offset > 0;
    }
    return true;
  }

  #keep(taskId: string, fold: Fold): Fold {
    this.#drop(taskId);
    const bytes = fold.bytes + FOLD_OVERHEAD;
    this.#folds.set(taskId, { fold, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#folds.keys()) {
      if (this.#bytes <= this.#options.cacheBytes || oldest === taskId) break;
      this.#drop(oldest);
    }
    this.#measures.snapshotsKept(this.#bytes);
    return fold;
  }
}
