/** One reader's cursor into a log in memory. */
import { taskNotFound } from "../../core/errors.ts";
import type { Position } from "../../core/log-entry.ts";
import type { TailStep } from "../../core/storage.ts";
import type { TaskRecord } from "./task-record.ts";

const END: IteratorResult<TailStep, undefined> = { done: true, value: undefined };

/** Answers a page when asked, and waits where there is none; holds nothing between two pages but its position. */
export class MemoryTail implements AsyncIterableIterator<TailStep> {
  readonly #find: () => TaskRecord | undefined;
  readonly #taskId: string;
  #position: Position;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(taskId: string, after: Position, signal: AbortSignal, find: () => TaskRecord | undefined) {
    this.#taskId = taskId;
    this.#position = after;
    this.#find = find;
    if (signal.aborted) this.#ended = true;
    else signal.addEventListener("abort", () => void this.return(), { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TailStep, undefined>> {
    while (!this.#ended) {
      const record = this.#find();
      if (record === undefined) throw taskNotFound(this.#taskId);
      const step = record.page(this.#position);
      if (step.is === "gone") {
        this.#ended = true;
        return { done: false, value: step };
      }
      const last = step.entries.at(-1);
      if (last !== undefined) {
        // Not the entry itself: a reader that waits must not keep what the log has dropped.
        this.#position = { offset: last.offset, mark: last.mark };
        return { done: false, value: step };
      }
      if (record.terminal) break;
      await this.#more(record);
    }
    this.#ended = true;
    return END;
  }

  return(): Promise<IteratorResult<TailStep, undefined>> {
    this.#ended = true;
    this.#wake?.();
    return Promise.resolve(END);
  }

  async #more(record: TaskRecord): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    record.readers.add(resolve);
    try {
      await promise;
    } finally {
      record.readers.delete(resolve);
      this.#wake = undefined;
    }
  }
}
