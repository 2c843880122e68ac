/** Page tokens of ListTasks: a place in a list, bound to the list it was made for. */
import type { ListCursor } from "./storage.ts";

/** Makes the token of the place after which the next page begins. `list` names scope and filter. */
export function pageToken(cursor: ListCursor, list: string): string {
  return btoa(`1|${cursor.statusTime}|${cursor.id}|${checksum(`${cursor.statusTime}|${cursor.id}|${list}`)}`)
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Reads a token back; undefined where it is not one of this list. */
export function parsePageToken(token: string, list: string): ListCursor | undefined {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(token)) return undefined;
  let text: string;
  try {
    text = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const match = /^1\|(\d{1,16})\|([0-9a-f-]{36})\|([0-9a-f]{16})$/.exec(text);
  if (match === null) return undefined;
  const [, time = "", id = "", sum] = match;
  return checksum(`${time}|${id}|${list}`) === sum ? { statusTime: Number(time), id } : undefined;
}

/** 64 bits of FNV-1a. No secret: a forged place in one's own list shows nothing that the list would not. */
function checksum(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
