/** Chance from a seed: the same seed draws the same inputs. */

/** Bytes and texts that parsers trip over. */
const TOKENS = [
  "",
  "\0",
  "\r\n",
  "\n\n",
  "\r\n\r\n",
  "{",
  "}",
  "[",
  "]",
  '"',
  "\\",
  "\\u0000",
  "\\ud800",
  ":",
  ",",
  "null",
  "-1",
  "1e999",
  "9007199254740993",
  "data:",
  "id:",
  "event:",
  "retry:",
  "%",
  "%00",
  "%2f",
  "..",
  "/",
  "?",
  "&",
  "=",
  "\u00e4",
  "\u{1f600}",
  "\ufeff",
  "\u2028",
  "__proto__",
  "constructor",
] as const;

/** Draws. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** The bytes with one to eight changes: bits, pieces cut, doubled, moved or put in. */
  mutated(bytes: Uint8Array): Buffer {
    let now: Buffer = Buffer.from(bytes);
    for (let count = 1 + this.below(8); count > 0; count -= 1) now = this.#changed(now);
    return now;
  }

  #changed(bytes: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + 1 + this.below(this.chance(0.2) ? 64 : 4));
    const with_ = (piece: Uint8Array | string, after = at): Buffer =>
      Buffer.concat([bytes.subarray(0, at), Buffer.from(piece as string), bytes.subarray(after)]);
    switch (this.below(6)) {
      case 0:
        return with_(Buffer.of((bytes[at] ?? 0) ^ (1 << this.below(8))), at + 1);
      case 1:
        return with_("", end);
      case 2:
        return with_(bytes.subarray(at, end));
      case 3:
        return with_(this.pick(TOKENS));
      case 4:
        return with_(this.bytes(1 + this.below(8)), this.chance(0.5) ? end : at);
      default:
        return bytes.subarray(0, this.chance(0.3) ? at : bytes.length);
    }
  }

  /** Any JSON; `keys` are the names that mean something. */
  json(keys: readonly string[], depth = 4): unknown {
    const kind = this.below(depth > 0 ? 8 : 6);
    if (kind === 0) return null;
    if (kind === 1) return this.chance(0.5);
    if (kind === 2) return this.pick([0, -1, 1, 1.5, 2 ** 53, 1e300, -0]);
    if (kind === 3) return this.pick(TOKENS);
    if (kind <= 5) return this.pick(keys);
    if (kind === 6) return Array.from({ length: this.below(5) }, () => this.json(keys, depth - 1));
    return Object.fromEntries(Array.from({ length: this.below(6) }, () => [this.pick(keys), this.json(keys, depth - 1)]));
  }
}
