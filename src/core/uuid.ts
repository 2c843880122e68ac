/** Identifiers. */
import { randomHex } from "./random.ts";

/** The first digit of the fourth group: two bits say that it is a UUID of RFC 9562. */
const VARIANT = "89ab";

/** A UUIDv7 (RFC 9562): 48 bits of milliseconds since 1970, the rest random, so that ids sort by the time they were made. */
export function uuidv7(nowMs: number): string {
  const time = Math.floor(nowMs).toString(16).padStart(12, "0").slice(-12);
  const random = randomHex(10);
  const variant = VARIANT[Number.parseInt(random.charAt(3), 16) & 3];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}

/** A UUIDv8 (RFC 9562) of 16 bytes or more that are as good as random: the same bytes are the same id. */
export function uuidv8(bytes: Uint8Array): string {
  const own = Buffer.from(bytes.subarray(0, 16));
  own[6] = 0x80 | ((own[6] ?? 0) & 0x0f);
  own[8] = 0x80 | ((own[8] ?? 0) & 0x3f);
  return own.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
