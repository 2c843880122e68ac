/** Thrown for a target that may not be reached: no later attempt will find it otherwise. */
export class WebhookRefused extends Error {
  override readonly name = "WebhookRefused";
}
