/** The memory store with places where a test can step in: what a slow or broken store does, without waiting for one. */
import type { Position } from "../../src/core/log-entry.ts";
import type { TailStep, TaskMeta } from "../../src/core/storage.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { MemoryStorage } from "../../src/storage/memory/memory-storage.ts";

export class HookedStorage extends MemoryStorage {
  /** Runs between reading a task's record and answering it. */
  afterMeta: (() => Promise<void>) | undefined;
  /** What every tail rejects with, from its next step on. */
  readonly #broken = Promise.withResolvers<never>();

  constructor() {
    super(resolveOptions({}));
    this.#broken.promise.catch(() => undefined);
  }

  override async meta(taskId: string): Promise<TaskMeta | undefined> {
    const meta = await super.meta(taskId);
    await this.afterMeta?.();
    return meta;
  }

  /** Breaks every tail, open or to come. */
  breakTails(error: unknown): void {
    this.#broken.reject(error);
  }

  override tail(taskId: string, after: Position, signal: AbortSignal): AsyncIterableIterator<TailStep> {
    const inner = super.tail(taskId, after, signal);
    const next = (): Promise<IteratorResult<TailStep>> => Promise.race([this.#broken.promise, inner.next()]);
    return {
      next,
      return: () => inner.return?.() ?? Promise.resolve({ done: true, value: undefined }),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}
