/** One reader's cursor into a log in Redis: from the feed where it has what is wanted, else from the log. */
import { TaskError } from "../../core/errors.ts";
import type { Position } from "../../core/log-entry.ts";
import type { TailStep } from "../../core/storage.ts";
import type { Attached, Tailer } from "./tailer.ts";
import type { TaskLog } from "./task-log.ts";

const END: IteratorResult<TailStep, undefined> = { done: true, value: undefined };
/** Wait between two reads while Redis is away. */
const RETRY_MS = 250;
/** A place that the log has lost may be given back by the task's owner: for this long it is looked for. */
const HEAL_MS = 1000;
const HEAL_LOOK_MS = 50;
/** As far beyond the log's end as owners give back. */
const HEAL_ENTRIES = 500;

type Step = IteratorResult<TailStep, undefined>;

/** Answers a page when asked, and waits where there is none; holds nothing between two pages but its position. */
export class RedisTail implements AsyncIterableIterator<TailStep> {
  readonly #log: TaskLog;
  readonly #tailer: Tailer;
  readonly #taskId: string;
  readonly #shard: number;
  readonly #signal: AbortSignal;
  // V8 makes a function that is assigned to a property old from the start: it would keep the reader until a major collection.
  readonly #left = (): void => this.#end();
  #position: Position;
  #attached: Attached | undefined;
  #history = -1;
  #ended = false;
  /** Until when the place of this reader is looked for, by performance.now(); undefined while the log has it. */
  #lostUntil: number | undefined;
  /** Looks again whether there is more; set while a reader waits. */
  #look: (() => void) | undefined;

  constructor(parts: { log: TaskLog; tailer: Tailer }, task: { id: string; shard: number }, after: Position, signal: AbortSignal) {
    this.#log = parts.log;
    this.#tailer = parts.tailer;
    this.#taskId = task.id;
    this.#shard = task.shard;
    this.#position = after;
    this.#signal = signal;
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", this.#left, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  // By hand, not async, where the feed has the answer: hundreds of readers wait on one task, and each is woken after every step.
  next(): Promise<Step> {
    const feed = this.#attached?.feed;
    if (feed === undefined || this.#history !== feed.history) return this.#next();
    const { promise, resolve, reject } = Promise.withResolvers<Step>();
    const look = (): void => {
      this.#look = undefined;
      const step = this.#ready();
      if (step === "elsewhere") this.#next().then(resolve, reject);
      else if (step === undefined) this.#wait(look);
      else resolve(step);
    };
    look();
    return promise;
  }

  return(): Promise<Step> {
    this.#end();
    return Promise.resolve(END);
  }

  /** The next step by the feed: undefined where there is none yet. */
  #ready(): Step | "elsewhere" | undefined {
    if (this.#ended) return END;
    const feed = this.#attached?.feed;
    if (feed === undefined || this.#history !== feed.history) return "elsewhere";
    const entries = feed.after(this.#position);
    if (entries === "elsewhere") return entries;
    const last = entries.at(-1);
    if (last === undefined) {
      if (!feed.sealed) return undefined;
      this.#end();
      return END;
    }
    // Not the entry itself: a reader that waits must not keep what the feed has dropped.
    this.#position = { offset: last.offset, mark: last.mark };
    // Known now: a task that is over may be gone when the reader asks again.
    if (feed.sealed && last.offset === feed.end.offset) this.#end();
    return { done: false, value: { is: "entries", entries } };
  }

  /** The next step by the log: the first one, after a place that the feed does not have, after another history. */
  async #next(): Promise<Step> {
    while (!this.#ended) {
      try {
        this.#attached ??= this.#tailer.attach(this.#taskId, this.#shard);
        const { feed, ready } = this.#attached;
        await ready;
        if (this.#ended) break;
        const { history } = feed;
        const known = history === this.#history || this.#history === -1;
        this.#history = history;
        const step = known ? this.#ready() : "elsewhere";
        if (step === undefined) return await this.next();
        if (step !== "elsewhere") return step;
        const read = await this.#log.read(this.#taskId, this.#position);
        if (this.#ended) break;
        if (read.is === "gone" && (await this.#comesBack())) continue;
        this.#lostUntil = undefined;
        if (read.is === "gone") {
          this.#end();
          return { done: false, value: read };
        }
        const last = read.entries.at(-1);
        if (last !== undefined) {
          this.#position = { offset: last.offset, mark: last.mark };
          return { done: false, value: read };
        }
        // Its place is the end of the log, which the feed has not heard of yet.
        if (feed.sealed && feed.end.offset === this.#position.offset) break;
        this.#tailer.fetch(this.#attached);
        await this.#attached.fetching;
      } catch (error) {
        if (!(error instanceof TaskError) || error.reason !== "STORE_UNAVAILABLE") {
          this.#end();
          throw error;
        }
        if (this.#tailer.closed) break;
        // Streams wait while the store is away.
        this.#leave();
        await this.#pause(RETRY_MS);
      }
    }
    this.#end();
    return END;
  }

  /**
   * Waits a moment where the store has lost the end of the log and this reader's place with it: its owner may be writing it again, and then
   * nobody has noticed. False where it is not to be waited for (any longer).
   */
  async #comesBack(): Promise<boolean> {
    const end = (await this.#log.end(this.#taskId))?.position.offset ?? Infinity;
    const lost = this.#position.offset - end;
    // It came back between the two looks, or other entries stand there now.
    if (lost <= 0) return (await this.#log.read(this.#taskId, this.#position)).is !== "gone";
    if (lost > HEAL_ENTRIES) return false;
    this.#lostUntil ??= performance.now() + HEAL_MS;
    if (performance.now() > this.#lostUntil) return false;
    await this.#pause(HEAL_LOOK_MS);
    return true;
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#look = resolve;
    await promise;
    clearTimeout(timer);
    this.#look = undefined;
  }

  #wait(look: () => void): void {
    this.#look = look;
    this.#attached?.feed.wait(look);
  }

  #leave(): void {
    if (this.#attached === undefined) return;
    const attached = this.#attached;
    this.#attached = undefined;
    this.#history = -1;
    this.#tailer.detach(attached);
  }

  #end(): void {
    if (this.#ended && this.#attached === undefined) return;
    this.#ended = true;
    this.#signal.removeEventListener("abort", this.#left);
    const look = this.#look;
    if (look !== undefined) this.#attached?.feed.leave(look);
    this.#leave();
    look?.();
  }
}
