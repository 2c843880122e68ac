/** Tasks as prefixes of logs make them. */
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { Fold } from "../../src/core/fold.ts";
import type { Entry } from "../../src/core/log-entry.ts";
import { HISTORY_LIMIT } from "../../src/core/task.ts";

/** Folds of prefixes of a log, going on from the last one that was asked for. */
export class Folds {
  readonly #entries: readonly Entry[];
  #fold = new Fold(HISTORY_LIMIT);

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  /** The task up to this offset. */
  at(offset: number): Task {
    if (offset < this.#fold.position.offset) this.#fold = new Fold(HISTORY_LIMIT);
    for (const entry of this.#entries.slice(this.#fold.position.offset, offset)) this.#fold.add(entry);
    return this.#fold.task;
  }
}

/** The same, once. */
export function foldUpTo(entries: readonly Entry[], offset: number): Task {
  return new Folds(entries).at(offset);
}
