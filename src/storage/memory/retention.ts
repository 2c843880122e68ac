/** What leaves memory, and when. */
import type { TaskRecord } from "./task-record.ts";

/** The bounds that retention keeps. */
export interface RetentionOptions {
  readonly maxBytes: number;
  readonly retentionMs: number;
  readonly interruptedRetentionMs: number;
}

/** Counts bytes and keeps the tasks at rest in the order in which they came to rest. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #now: () => number;
  #bytes = 0;
  readonly #finished = new Map<TaskRecord, number>();
  readonly #interrupted = new Map<TaskRecord, number>();

  constructor(options: RetentionOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** Runs a step that changes a task and counts what it added. */
  account(task: TaskRecord, step: () => void): void {
    const before = task.position.offset === 0 ? 0 : task.bytes;
    const rested = task.terminal || task.interrupted;
    const { state } = task.head;
    step();
    this.#bytes += task.bytes - before;
    if (rested && task.head.state === state && before !== 0) return;
    this.#interrupted.delete(task);
    if (task.terminal) this.#finished.set(task, this.#now());
    else if (task.interrupted) this.#interrupted.set(task, this.#now());
  }

  /** Evicts tasks at rest, oldest first, until there is room again; false where only running ones, or `keep`, are left. */
  makeRoom(remove: (task: TaskRecord) => void, keep?: TaskRecord): boolean {
    while (this.#bytes >= this.#options.maxBytes) {
      const oldest = this.#finished.keys().next().value ?? this.#interrupted.keys().next().value;
      if (oldest === undefined || oldest === keep) return false;
      this.#forget(oldest, remove);
    }
    return true;
  }

  /** Removes finished tasks whose time is over and names interrupted ones that nobody went on with. */
  sweep(remove: (task: TaskRecord) => void, owned: (task: TaskRecord) => boolean): { removed: number; abandoned: string[] } {
    const now = this.#now();
    let removed = 0;
    for (const [task, since] of this.#finished) {
      if (since + this.#options.retentionMs > now) break;
      this.#forget(task, remove);
      removed += 1;
    }
    const abandoned: string[] = [];
    for (const [task, since] of this.#interrupted) {
      if (since + this.#options.interruptedRetentionMs > now) break;
      if (!owned(task)) abandoned.push(task.id);
    }
    return { removed, abandoned };
  }

  #forget(task: TaskRecord, remove: (task: TaskRecord) => void): void {
    this.#bytes -= task.bytes;
    this.#finished.delete(task);
    this.#interrupted.delete(task);
    remove(task);
  }
}
