/** What a notification of a task carries besides its body: names that whoever sends and whoever receives agree on. */

/** Header fields. */
export const WEBHOOK_FIELDS = {
  /** The event: the same at each attempt. As Standard Webhooks name it. */
  id: "webhook-id",
  /** When this attempt was made, in seconds since 1970. */
  timestamp: "webhook-timestamp",
  token: "x-a2a-notification-token",
  /** As the Go SDK spells it. */
  goToken: "a2a-notification-token",
  /** A JWT: {@link BODY_CLAIM} among its claims. */
  signature: "a2a-notification-jwt",
} as const;

/** The claim with the SHA-256 of the body, in hexadecimal; the samples of A2A call it so. */
export const BODY_CLAIM = "request_body_sha256";
