/** Slow readers: how long to wait for one, and how much may be on its way to all of them. */
import { UnreadReplies } from "./unread-replies.ts";

/** What a wait for a reader ends with. */
export type Wait = "drained" | "stalled";

/** Waits for `drained`; gives up when `progress` has not changed for `stalledMs`. */
export async function waitForReader(drained: Promise<void>, progress: () => number, stalledMs: number): Promise<Wait> {
  const done = drained.then((): Wait => "drained");
  for (let seen = progress(); ;) {
    const { promise, resolve } = Promise.withResolvers<Wait>();
    const timer = setTimeout(() => resolve("stalled"), stalledMs);
    const wait = await Promise.race([done, promise]);
    clearTimeout(timer);
    const now = progress();
    if (wait === "drained" || now === seen) return wait;
    seen = now;
  }
}

/** Frames and replies larger than this wait for room in {@link Egress}; smaller frames are bounded by what each stream may queue. */
export const LARGE_FRAME = 256 * 1024;

/** How long replies may stay unread where nobody says. */
const STALLED_MS = 60_000;

/** Bytes of large frames that are on their way, over all streams of a server: snapshots, most of all. First come, first served. */
export class Egress {
  /** Bytes of frames, and of replies that were written in slices, that were handed to sockets so far; of text as many as it has characters. */
  sent = 0;
  /** Smaller replies: as many bytes again. */
  readonly replies: UnreadReplies;
  readonly #limit: number;
  readonly #waiting: { readonly bytes: number; readonly admit: () => void }[] = [];
  #used = 0;
  #wanted = 0;

  constructor(limit: number, stalledStreamMs: number = STALLED_MS) {
    this.#limit = limit;
    this.replies = new UnreadReplies({ bytes: limit, stalledStreamMs });
  }

  /** Bytes that readers have not taken yet: large frames on their way, large frames that wait for room, replies. */
  get sizes(): { readonly sending: number; readonly waiting: number; readonly replies: number } {
    return { sending: this.#used, waiting: this.#wanted, replies: this.replies.bytes };
  }

  /** Whether so many wait that one more had better not: what waits is held in memory too. */
  isCrowded(bytes: number): boolean {
    return this.#wanted > 0 && this.#wanted + bytes > this.#limit;
  }

  /** Resolves when there is room; one that is larger than the whole budget goes alone. Dispose the place when the frame has left. */
  async acquire(bytes: number, signal: AbortSignal): Promise<Disposable> {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const place = { bytes, admit: resolve };
      const leave = (): void => {
        const at = this.#waiting.indexOf(place);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        this.#wanted -= bytes;
        // Whoever leaves takes no room: disposing below gives back what was never taken.
        this.#used += bytes;
        resolve();
      };
      this.#waiting.push(place);
      this.#wanted += bytes;
      signal.addEventListener("abort", leave, { once: true });
      if (signal.aborted) leave();
      await promise;
      signal.removeEventListener("abort", leave);
    } else {
      this.#used += bytes;
    }
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.#used -= bytes;
        this.#admit();
      },
    };
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#limit;
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#wanted -= next.bytes;
      this.#used += next.bytes;
      next.admit();
    }
  }
}
