/** Dedupe rows: which send was the first of its kind. They live as long as their task and are judged when read. */
import type { Repeat, RepeatKey } from "../../core/storage.ts";
import type { TaskRecord } from "./task-record.ts";

/** The dedupe rows of the memory store. */
export class Repeats {
  readonly #now: () => number;
  readonly #rows = new Map<string, Repeat & { readonly at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The first send, where this one is its repeat. */
  find({ key, mode, windowMs }: RepeatKey, task: (taskId: string) => TaskRecord | undefined): Repeat | undefined {
    const row = this.#rows.get(key);
    if (row === undefined) return undefined;
    const first = task(row.taskId);
    if (first === undefined) return undefined;
    const joins = mode === "window" ? this.#now() - row.at < windowMs : !first.terminal && !first.interrupted;
    return joins ? first.repeat(row.offset) : undefined;
  }

  /** Writes the row of a first send. A row that is no longer a repeat's first is replaced. */
  add({ key }: RepeatKey, task: TaskRecord, offset: number): void {
    this.#rows.set(key, { taskId: task.id, offset, at: this.#now() });
    task.repeatKeys.push(key);
  }

  /** Removes the rows of a task. */
  drop(task: TaskRecord): void {
    for (const key of task.repeatKeys) {
      if (this.#rows.get(key)?.taskId === task.id) this.#rows.delete(key);
    }
  }
}
