/** When a fold is stored beside its log: geometrically, so that all checkpoints of a task together cost a constant factor of its log. */
import { isRefused, TaskError } from "../core/errors.ts";
import type { Fold } from "../core/fold.ts";
import type { Lease, Storage } from "../core/storage.ts";

/** No checkpoint before this many entries or bytes came since the last one. */
const FLOOR_ENTRIES = 256;
const FLOOR_BYTES = 256 * 1024;
/** At the end a shorter tail is worth folding in; below it a reader folds the log itself as fast. */
const FLOOR_ENTRIES_AT_END = 32;
const FLOOR_BYTES_AT_END = 32 * 1024;

/** Decides after each batch. */
export class Checkpointer {
  readonly #storage: Storage;
  readonly #lease: Lease;
  readonly #onTrouble: (error: unknown) => void;
  #lastOffset = 0;
  #lastFolded = 0;
  #lastSize = 0;

  /** `onTrouble` is told of errors that nobody expects: they end no turn. */
  constructor(storage: Storage, lease: Lease, onTrouble: (error: unknown) => void) {
    this.#storage = storage;
    this.#lease = lease;
    this.#onTrouble = onTrouble;
  }

  /** Stores a checkpoint where one is due. A refusal, a store that is away or a task that is gone is no harm: the log stands without it. */
  async after(fold: Fold, consumed: number, sealed: boolean): Promise<void> {
    const entries = fold.position.offset - this.#lastOffset;
    const bytes = fold.folded - this.#lastFolded;
    const enough = sealed
      ? entries >= FLOOR_ENTRIES_AT_END || bytes >= FLOOR_BYTES_AT_END
      : bytes > this.#lastSize && (entries >= FLOOR_ENTRIES || bytes >= FLOOR_BYTES);
    if (!enough) return;
    const checkpoint = fold.checkpoint(consumed);
    try {
      await this.#storage.checkpoint(this.#lease.taskId, sealed ? undefined : this.#lease, checkpoint);
    } catch (error) {
      if (!isRefused(error, "FENCED", "STALE") && !(error instanceof TaskError)) this.#onTrouble(error);
      return;
    }
    this.#lastOffset = fold.position.offset;
    this.#lastSize = checkpoint.bytes.length;
    this.#lastFolded = fold.folded;
    fold.bytes = checkpoint.bytes.length;
  }
}
