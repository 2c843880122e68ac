/** Signs notifications, for receivers that check them against the published keys. */
import { BODY_CLAIM } from "../core/task-notification.ts";
import type { SignNotification } from "../worker/webhook-request.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** How long a signature is good for, in seconds: each attempt gets one of its own. */
const VALID_SECONDS = 300;

/**
 * A JWT by the first key: `iss` the server's URL, `aud` the webhook's origin, `jti` the event's id, `sub` and `taskId` the task's id, and the SHA-256 of the body
 * as {@link BODY_CLAIM}.
 */
export function notificationSigner(keys: SigningKeys, issuer: string): SignNotification {
  return ({ audience, taskId, eventId, bodySha256 }) => {
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: now, exp: now + VALID_SECONDS };
    return keys.signJwt({ iss: issuer, aud: audience, sub: taskId, taskId, jti: eventId, ...times, [BODY_CLAIM]: bodySha256 });
  };
}
