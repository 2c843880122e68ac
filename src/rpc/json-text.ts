/** JSON text of a request: UTF-8, and no more values than a replica can take without standing still. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { connectError } from "./errors.ts";
import type { RequestBounds } from "./request-bounds.ts";

/** The error for a request with more values than it may hold. */
export function tooManyValues(most: number): ConnectError {
  return connectError("MESSAGE_TOO_LARGE", `a request may hold at most ${most} values; send what is larger as raw or url`);
}

/** Decodes a body. Throws PARSE_ERROR where it is no UTF-8, MESSAGE_TOO_LARGE where it holds too many values. */
export function decodeJsonText(body: Uint8Array, { values }: RequestBounds): string {
  // Each value has a byte of its own and one beside it.
  if (body.length > 2 * values && holdsMore(body, values)) throw tooManyValues(values);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw connectError("PARSE_ERROR", "the body is not UTF-8", { cause });
  }
}

/** Parses JSON text. Throws PARSE_ERROR. */
export function parseJsonText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw connectError("PARSE_ERROR", "the body is not JSON", { cause });
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Counts the values of a body before it is parsed: one at each comma, and one in each object or array that is not empty. */
function holdsMore(body: Uint8Array, most: number): boolean {
  let values = 1;
  let inString = false;
  let opened = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
      continue;
    }
    if (byte <= 0x20) continue;
    if (opened && !CLOSING.has(byte)) values += 1;
    opened = OPENING.has(byte);
    if (byte === QUOTE) inString = true;
    else if (byte === COMMA) values += 1;
    if (values > most) return true;
  }
  return false;
}
