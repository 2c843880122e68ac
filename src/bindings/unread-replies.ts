/** Whole replies that nobody has read yet: counted by connection, refused beyond a bound, and cut where they stay unread. */
import { connectError } from "../rpc/errors.ts";

/** Smaller ones are not counted: what HTTP/2 itself keeps of a stream is as much. */
const SMALL = 2048;
/** The first bytes of each connection are granted whatever the others have left unread. */
const ALWAYS = 64 * 1024;
/** Part of the whole budget that one connection may leave unread. */
const SHARE = 1 / 4;
/** While there is no room, replies that were not taken for this long are cut. */
const PATIENCE_MS = 1000;
const RETRY_MS = 1000;

/** A reply on its way. */
interface Unread {
  readonly bytes: number;
  readonly connection: object;
  readonly since: number;
  readonly cut: () => void;
}

/** Bounds of {@link UnreadReplies}. */
export interface UnreadOptions {
  /** Bytes of all replies that are on their way. */
  readonly bytes: number;
  /** A reply that was not taken for this long is cut. */
  readonly stalledStreamMs: number;
}

/** The replies of a server that are on their way. Those that are large enough to be written in slices are counted by Egress instead. */
export class UnreadReplies {
  readonly #options: UnreadOptions;
  /** Oldest first. */
  readonly #open = new Set<Unread>();
  readonly #held = new Map<object, number>();
  #used = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UnreadOptions) {
    this.#options = options;
  }

  /** Bytes that are on their way. */
  get bytes(): number {
    return this.#used;
  }

  /**
   * Counts a reply that is about to be written; call what this answers when it has left, or never will. `cut` ends it where it stays. Throws
   * RESOURCE_EXHAUSTED where its connection has left too much unread, or all together have.
   */
  begin(bytes: number, connection: object, cut: () => void): () => void {
    if (bytes <= SMALL) return nothing;
    const held = this.#held.get(connection) ?? 0;
    if (held > 0 && held + bytes > this.#options.bytes * SHARE) throw tooMuch("this connection has too many replies that it does not read");
    if (held + bytes > ALWAYS && this.#used + bytes > this.#options.bytes) {
      this.#cutOlderThan(PATIENCE_MS);
      if (this.#used + bytes > this.#options.bytes) throw tooMuch("too many replies are not read");
    }
    const unread = { bytes, connection, since: performance.now(), cut };
    this.#open.add(unread);
    this.#held.set(connection, held + bytes);
    this.#used += bytes;
    this.#timer ??= setInterval(() => this.#cutOlderThan(this.#options.stalledStreamMs), this.#options.stalledStreamMs / 4).unref();
    return () => this.#end(unread);
  }

  #cutOlderThan(ms: number): void {
    const until = performance.now() - ms;
    for (const unread of this.#open) {
      if (unread.since > until) break;
      this.#end(unread);
      unread.cut();
    }
  }

  #end(unread: Unread): void {
    if (!this.#open.delete(unread)) return;
    this.#used -= unread.bytes;
    const held = (this.#held.get(unread.connection) ?? 0) - unread.bytes;
    if (held > 0) this.#held.set(unread.connection, held);
    else this.#held.delete(unread.connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function nothing(): void {
  // It was not counted.
}

function tooMuch(message: string): unknown {
  return connectError("RESOURCE_EXHAUSTED", message, { metadata: { limit: "egressBytes" }, retryAfterMs: RETRY_MS });
}
