/** Random digits, drawn from the system many at a time: marks and ids are drawn several per call. */

const POOL_BYTES = 4096;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Hex digits of so many bytes that were never given out before. At most 4,096 bytes. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}
