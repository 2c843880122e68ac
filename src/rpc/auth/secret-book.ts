/** Secrets that stand for principals, kept as digests only. */
import { hash, timingSafeEqual } from "node:crypto";
import type { Principal } from "./authenticate.ts";

/** A secret by its digest, and who it stands for. */
export interface KnownSecret {
  /** SHA-256 of the secret. */
  readonly digest: Buffer;
  readonly principal: Principal;
  /** When it stops being good, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
}

/** Finds principals by secrets. The secrets are to be random: a digest protects none that can be guessed. */
export class SecretBook {
  readonly #known: readonly KnownSecret[];

  constructor(known: readonly KnownSecret[]) {
    this.#known = known;
  }

  /** Who a secret stands for. Each is compared, in constant time: how long it takes tells nothing. */
  find(secret: string): Principal | undefined {
    const given = digestOf(secret);
    let found: KnownSecret | undefined;
    for (const one of this.#known) if (timingSafeEqual(one.digest, given)) found = one;
    return found?.expiresAt !== undefined && found.expiresAt <= Date.now() ? undefined : found?.principal;
  }
}

/** The digest by which a secret is known. */
export function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
