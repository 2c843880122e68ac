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
  readonly #signal: AbortSignal;
  readonly #left: () => void;
  #wake: (() => void) | undefined;

  constructor(taskId: string, after: Position, signal: AbortSignal, find: () => TaskRecord | undefined) {
    this.#taskId = taskId;
    this.#position = after;
    this.#find = find;
    this.#signal = signal;
    this.#left = (): void => this.#end();
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", this.#left, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TailStep, undefined>> {
    while (!this.#ended) {
      const record = this.#find();
      if (record === undefined) {
        this.#end();
        throw taskNotFound(this.#taskId);
      }
      const step = record.page(this.#position);
      if (step.is === "gone") {
        this.#end();
        return { done: false, value: step };
      }
      const last = step.entries.at(-1);
      if (last !== undefined) {
        // Not the entry itself: a reader that waits must not keep what the log has dropped.
        this.#position = { offset: last.offset, mark: last.mark };
        // Known now: a task that is over may be gone when the reader asks again.
        if (record.terminal && last.offset === record.position.offset) this.#end();
        return { done: false, value: step };
      }
      if (record.terminal) this.#end();
      else await this.#more(record);
    }
    return END;
  }

  return(): Promise<IteratorResult<TailStep, undefined>> {
    this.#end();
    return Promise.resolve(END);
  }

  #end(): void {
    this.#ended = true;
    this.#signal.removeEventListener("abort", this.#left);
    this.#wake?.();
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
