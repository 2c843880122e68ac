/** What an owner keeps of the log's end, for a store that may lose it in a failover (docs/redis.md, Durability). */
import { type Entry, type Position, samePosition } from "../core/log-entry.ts";
import type { Storage } from "../core/storage.ts";

/** Most entries and bytes that are kept of one task, whatever the time. */
const MAX_ENTRIES = 500;
const MAX_BYTES = 256 * 1024;

/** The entries of the last `keepMs` milliseconds, without a gap. Keeps nothing where `keepMs` is 0. */
export class RecentEntries {
  readonly #keepMs: number;
  readonly #entries: { readonly entry: Entry; readonly at: number }[] = [];
  #bytes = 0;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** The next entry of the log. */
  add(entry: Entry): void {
    if (this.#keepMs === 0) return;
    this.#entries.push({ entry, at: performance.now() });
    this.#bytes += entry.bytes.length;
    this.trim();
  }

  /** Lets go of what is older than it should be, or too much. */
  trim(): void {
    const oldest = performance.now() - this.#keepMs;
    let drop = 0;
    for (const { entry, at } of this.#entries) {
      const full = this.#entries.length - drop > MAX_ENTRIES || this.#bytes > MAX_BYTES;
      if (!full && at > oldest) break;
      this.#bytes -= entry.bytes.length;
      drop += 1;
    }
    if (drop > 0) this.#entries.splice(0, drop);
  }

  /** The entries that end with the given position; none where it is not the last one. */
  upTo(position: Position): readonly Entry[] {
    const last = this.#entries.at(-1)?.entry;
    return last !== undefined && samePosition(last, position) ? this.#entries.map(({ entry }) => entry) : [];
  }

  clear(): void {
    this.#entries.length = 0;
    this.#bytes = 0;
  }
}

/** Which of an owner's last entries the log no longer holds. `shared` is the last of them that it does hold; 0 where it holds none. */
export async function lostEntries(
  storage: Storage,
  taskId: string,
  entries: readonly Entry[],
): Promise<{ readonly shared: number; readonly lost: readonly Entry[] }> {
  // Two histories share a beginning: look for its end.
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const step = await storage.read(taskId, entries[middle] as Entry);
    if (step.is === "gone") high = middle;
    else low = middle + 1;
  }
  return { shared: entries[low - 1]?.offset ?? 0, lost: entries.slice(low) };
}
