/** Page tokens: a place in a list, bound to the list it was made for. */

/** Longest token that is read; longer ones were not made here. */
const MAX_TOKEN = 8192;

/** Makes the token of the place after which the next page begins. `list` names what is listed, filters included. */
export function pageToken(place: string, list: string): string {
  const text = encodeURIComponent(place.toWellFormed());
  return btoa(`1|${checksum(text, list)}|${text}`)
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Reads the place back; undefined where the token is not one of this list. */
export function parsePageToken(token: string, list: string): string | undefined {
  if (token.length > MAX_TOKEN || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined;
  try {
    const [, sum, text = ""] = /^1\|([0-9a-f]{16})\|(.*)$/.exec(atob(token.replaceAll("-", "+").replaceAll("_", "/"))) ?? [];
    return sum === checksum(text, list) ? decodeURIComponent(text) : undefined;
  } catch {
    return undefined;
  }
}

/** 64 bits of FNV-1a. No secret: a forged place in one's own list shows nothing that the list would not. */
function checksum(place: string, list: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(`${place}|${list}`)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
