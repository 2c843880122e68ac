/** Identifiers. */
import { hex, randomBytes } from "./random.ts";

/** A UUIDv7 (RFC 9562): 48 bits of milliseconds since 1970, the rest random, so that ids sort by the time they were made. */
export function uuidv7(nowMs: number): string {
  const time = Math.floor(nowMs).toString(16).padStart(12, "0").slice(-12);
  const random = randomBytes(10);
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  const rest = hex(random);
  return `${time.slice(0, 8)}-${time.slice(8)}-${rest.slice(0, 4)}-${rest.slice(4, 8)}-${rest.slice(8)}`;
}

/** A UUIDv8 (RFC 9562) of 16 bytes or more that are as good as random: the same bytes are the same id. */
export function uuidv8(bytes: Uint8Array): string {
  const own = bytes.slice(0, 16);
  own[6] = 0x80 | ((own[6] ?? 0) & 0x0f);
  own[8] = 0x80 | ((own[8] ?? 0) & 0x3f);
  return hex(own).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
