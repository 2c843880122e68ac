/** Tokens and credentials of webhooks: each has its own, and none need be stored, as they follow from one secret. */
import { createHmac, timingSafeEqual } from "node:crypto";

const MIN_BYTES = 32;

/** Derives them, and compares. */
export class WebhookSecrets {
  readonly #secret: Uint8Array;

  /** Throws TypeError where the secret is too short. */
  constructor(secret: string | Uint8Array) {
    this.#secret = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
    if (this.#secret.length < MIN_BYTES) throw new TypeError(`secret: it must have ${MIN_BYTES} bytes or more`);
  }

  tokenOf(webhookId: string): string {
    return this.#derived("token", webhookId);
  }

  credentialsOf(webhookId: string): string {
    return this.#derived("credentials", webhookId);
  }

  #derived(what: string, webhookId: string): string {
    return createHmac("sha256", this.#secret)
      .update(JSON.stringify([what, webhookId]))
      .digest("base64url");
  }
}

/** Whether two texts are the same, in a time that says nothing of where they differ. */
export function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
