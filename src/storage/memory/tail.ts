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
  // V8 makes a function that is assigned to a property old from the start: it would keep the reader until a major collection.
  readonly #left = (): void => this.#end();
  /** Looks again whether there is more; set while a reader waits. */
  #look: (() => void) | undefined;

  constructor(taskId: string, after: Position, signal: AbortSignal, find: () => TaskRecord | undefined) {
    this.#taskId = taskId;
    this.#position = after;
    this.#find = find;
    this.#signal = signal;
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", this.#left, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // By hand, not async: hundreds of readers wait on one task, and each is woken after every step that appends.
  next(): Promise<IteratorResult<TailStep, undefined>> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<TailStep, undefined>>();
    const look = (): void => {
      this.#look = undefined;
      try {
        const step = this.#step();
        if (step === undefined) this.#wait(look);
        else resolve(step);
      } catch (error) {
        reject(error);
      }
    };
    look();
    return promise;
  }

  return(): Promise<IteratorResult<TailStep, undefined>> {
    this.#end();
    return Promise.resolve(END);
  }

  /** The next step if there is one now. Throws TASK_NOT_FOUND. */
  #step(): IteratorResult<TailStep, undefined> | undefined {
    if (this.#ended) return END;
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
    if (last === undefined) {
      if (!record.terminal) return undefined;
      this.#end();
      return END;
    }
    // Not the entry itself: a reader that waits must not keep what the log has dropped.
    this.#position = { offset: last.offset, mark: last.mark };
    // Known now: a task that is over may be gone when the reader asks again.
    if (record.terminal && last.offset === record.position.offset) this.#end();
    return { done: false, value: step };
  }

  #wait(look: () => void): void {
    this.#look = look;
    this.#find()?.readers.add(look);
  }

  #end(): void {
    this.#ended = true;
    this.#signal.removeEventListener("abort", this.#left);
    const look = this.#look;
    if (look === undefined) return;
    this.#find()?.readers.delete(look);
    look();
  }
}
