/** Principals of tokens that were verified, for as long as they are good; a bounded number of them. */
import { hash } from "node:crypto";
import type { Principal } from "./authenticate.ts";

/** Tokens that are kept at most; the ones that were not used for longest go first. */
const MAX_TOKENS = 10_000;
/** A token is verified again after this time: its key may have been withdrawn. */
const MAX_AGE_MS = 5 * 60_000;

interface Verified {
  readonly principal: Principal;
  readonly until: number;
}

/** Keeps what a token was found to stand for, under its digest. */
export class TokenCache {
  readonly #maxTokens: number;
  readonly #verified = new Map<string, Verified>();

  constructor(maxTokens: number = MAX_TOKENS) {
    this.#maxTokens = maxTokens;
  }

  get size(): number {
    return this.#verified.size;
  }

  /** The principal of a token that is good; undefined where it has to be verified. */
  get(token: string): Principal | undefined {
    const key = keyOf(token);
    const found = this.#verified.get(key);
    if (found === undefined) return undefined;
    this.#verified.delete(key);
    if (found.until <= Date.now()) return undefined;
    this.#verified.set(key, found);
    return found.principal;
  }

  /** Keeps a token until it expires, in milliseconds since 1970, or for five minutes, whichever is sooner. */
  set(token: string, principal: Principal, expiresAt: number): void {
    const now = Date.now();
    const until = Math.min(expiresAt, now + MAX_AGE_MS);
    if (until <= now) return;
    this.#verified.set(keyOf(token), { principal, until });
    for (const [oldest] of this.#verified) {
      if (this.#verified.size <= this.#maxTokens) break;
      this.#verified.delete(oldest);
    }
  }
}

function keyOf(token: string): string {
  return hash("sha256", token, "base64url");
}
