/** Turns a stream of bytes into chunks of text. */

/** When a chunk is full. */
export interface ChunkerOptions {
  /** Bytes of a chunk; those of a code point that was cut in two come on top. Default 16 kB: large enough to be cheap, small enough for any frame. */
  readonly maxBytes?: number;
  /** How long the first byte of a chunk waits for company. Default 100: a reader sees a line as it comes. */
  readonly maxDelayMs?: number;
}

/** A piece of the text. Exactly one, the final one, is `last`; it alone may be empty. */
export interface TextChunk {
  readonly text: string;
  readonly last: boolean;
}

const rung = Symbol("rung");

/**
 * Chunks whose concatenation is the UTF-8 text of the source, byte for byte, a byte order mark included; a code point is
 * never cut, invalid bytes become U+FFFD. Reads only while the consumer asks, at most one read ahead. The source stays
 * open when the consumer leaves early: whoever opened it closes it.
 */
export async function* textChunks(source: AsyncIterable<Uint8Array>, options: ChunkerOptions = {}): AsyncGenerator<TextChunk> {
  const { maxBytes = 16 * 1024, maxDelayMs = 100 } = options;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const reads = source[Symbol.asyncIterator]();
  const alarm = new Alarm(maxDelayMs);
  let text = "";
  let size = 0;
  let read = reads.next();
  try {
    for (;;) {
      const next = await (size === 0 ? read : Promise.race([read, alarm.rings()]));
      if (next !== rung) {
        if (next.done) break;
        for (let at = 0; at < next.value.length;) {
          const piece = next.value.subarray(at, at + maxBytes - size);
          at += piece.length;
          size += piece.length;
          text += decoder.decode(piece, { stream: true });
          if (size < maxBytes) continue;
          if (text !== "") yield { text, last: false };
          [text, size] = ["", 0];
          alarm.stop();
        }
        read = reads.next();
        continue;
      }
      if (text !== "") yield { text, last: false };
      [text, size] = ["", 0];
      alarm.stop();
    }
    yield { text: text + decoder.decode(), last: true };
  } finally {
    alarm.stop();
    // nobody hears of the read that is still under way; closing the source may make it fail
    read.catch(() => undefined);
  }
}

/** A timer that starts when first asked for, and is asked for again until it is stopped. */
class Alarm {
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #rings: Promise<typeof rung> | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  rings(): Promise<typeof rung> {
    this.#rings ??= new Promise((resolve) => {
      this.#timer = setTimeout(resolve, this.#ms, rung);
    });
    return this.#rings;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#rings = undefined;
  }
}
