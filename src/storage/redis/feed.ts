/** The end of one task's log as this replica knows it, shared by all who follow the task here. */
import { type Entry, type Position, samePosition, START } from "../../core/log-entry.ts";
import type { News } from "./replies.ts";

/** Entries and bytes that stay at hand for readers that are a little behind; who is further behind reads from Redis. */
const WINDOW_ENTRIES = 256;
const WINDOW_BYTES = 256 * 1024;

/** Entries and bytes of one page. */
const PAGE_ENTRIES = 64;
const PAGE_BYTES = 128 * 1024;

/** What a feed has for a reader at a position: entries, nothing yet, or `elsewhere`: only the log itself can tell. */
export type Found = readonly Entry[] | "elsewhere";

/** Recent entries of one log, and who waits for more. */
export class Feed {
  readonly taskId: string;
  readonly shard: number;
  /** Readers that are attached. */
  readers = 0;
  /** Grows when the history turned out to be another one: positions of before have to be judged by the log. */
  history = 0;
  /** When the store was last heard of, by performance.now(). */
  heard = performance.now();
  /** Bytes of the window. */
  bytes = 0;
  #window: Entry[] = [];
  /** The place before the first entry of the window. */
  #start: Position = START;
  #end: Position = START;
  #sealed = false;
  /** What follows the known end is of a newer version. */
  #newer = false;
  #waiting = new Set<() => void>();
  #waking = false;

  constructor(taskId: string, shard: number) {
    this.taskId = taskId;
    this.shard = shard;
  }

  /** The last entry known. */
  get end(): Position {
    return this.#end;
  }

  /** Whether the log ends with a terminal event, which is the last entry known. */
  get sealed(): boolean {
    return this.#sealed;
  }

  /** Begins anew at a place: what is before it, readers fetch themselves. */
  reset(end: Position, sealed: boolean): void {
    this.drop();
    this.#newer = false;
    this.#start = end;
    this.#end = end;
    this.#sealed = sealed;
    this.history += 1;
    this.#wake();
  }

  /** What follows cannot be read here: every reader asks the log, as far as it goes, and hears it there. */
  stop(): void {
    this.reset(this.#end, this.#sealed);
    this.#newer = true;
  }

  /** Takes entries that come right after the known end; what is known already is passed over. False where only the log can tell. */
  add({ before, after, sealed, entries }: News): boolean {
    this.heard = performance.now();
    if (after.offset <= this.#end.offset) {
      // News from before what is known: of another history, where the store has lost the end of this one.
      if (this.#markAt(after.offset) !== after.mark) return false;
      if (after.offset === this.#end.offset) this.#sealed ||= sealed;
      return true;
    }
    if (!samePosition(before, this.#end)) return false;
    if (entries.length === 0) return false;
    for (const entry of entries) {
      this.#window.push(entry);
      this.bytes += entry.bytes.length;
    }
    this.#end = { offset: after.offset, mark: after.mark };
    this.#sealed = sealed;
    this.#trim();
    this.#wake();
    return true;
  }

  /** What follows a position, if it is at hand. */
  after({ offset, mark }: Position): Found {
    const index = offset - this.#start.offset;
    if (index < 0 || this.#markAt(offset) !== mark) return "elsewhere";
    const page: Entry[] = [];
    let bytes = 0;
    for (let next = index; next < this.#window.length && page.length < PAGE_ENTRIES; next += 1) {
      const entry = this.#window[next] as Entry;
      if (page.length > 0 && bytes + entry.bytes.length > PAGE_BYTES) break;
      page.push(entry);
      bytes += entry.bytes.length;
    }
    if (this.#newer && page.length === 0) return "elsewhere";
    return page;
  }

  /** The mark at an offset, if it is at hand. */
  #markAt(offset: number): string | undefined {
    const index = offset - this.#start.offset;
    return (index === 0 ? this.#start : this.#window[index - 1])?.mark;
  }

  /** Lets the window go: readers that are behind fetch it. */
  drop(): void {
    this.#window = [];
    this.#start = this.#end;
    this.bytes = 0;
  }

  /** Calls `look` once, when there may be more. */
  wait(look: () => void): void {
    this.#waiting.add(look);
  }

  /** Calls `look` no more. */
  leave(look: () => void): void {
    this.#waiting.delete(look);
  }

  /** Wakes every reader that waits, once per step of the event loop: hundreds of readers cost one wake-up each, not one per entry. */
  #wake(): void {
    if (this.#waking || this.#waiting.size === 0) return;
    this.#waking = true;
    process.nextTick(() => {
      this.#waking = false;
      const waiting = this.#waiting;
      this.#waiting = new Set();
      for (const look of waiting) look();
    });
  }

  #trim(): void {
    let drop = 0;
    while (this.#window.length - drop > WINDOW_ENTRIES || (this.bytes > WINDOW_BYTES && this.#window.length - drop > 1)) {
      this.bytes -= (this.#window[drop] as Entry).bytes.length;
      drop += 1;
    }
    if (drop === 0) return;
    const { offset, mark } = this.#window[drop - 1] as Entry;
    this.#start = { offset, mark };
    this.#window.splice(0, drop);
  }
}
