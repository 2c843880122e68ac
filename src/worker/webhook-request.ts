/** One notification as it goes over the wire. */
import { toJsonString } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** What a webhook is told besides the event. */
export interface NotificationFacts {
  /** The same for every attempt: by it a receiver drops repeats. */
  readonly eventId: string;
  /** When this attempt is made, in milliseconds since 1970: by it a receiver refuses what is stale. */
  readonly now: number;
  /** A token that a receiver checks against published keys; undefined where notifications are not signed. */
  readonly signature: string | undefined;
}

/** A POST. */
export interface WebhookRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Names of the fields that {@link webhookRequest} writes besides those of HTTP. */
export const WEBHOOK_FIELDS = {
  /** As Standard Webhooks name them. */
  id: "webhook-id",
  /** Seconds since 1970. */
  timestamp: "webhook-timestamp",
  token: "x-a2a-notification-token",
  /** As the Go SDK spells it. */
  goToken: "a2a-notification-token",
  signature: "a2a-notification-jwt",
} as const;

/** The request for one event: a bare StreamResponse, with the credentials that the configuration gives. */
export function webhookRequest(config: TaskPushNotificationConfig, event: StreamResponse, facts: NotificationFacts): WebhookRequest {
  const { url, token, authentication } = config;
  const { eventId, now, signature } = facts;
  const headers: Record<string, string> = {
    "content-type": "application/a2a+json",
    "user-agent": "throughline",
    [WEBHOOK_FIELDS.id]: eventId,
    [WEBHOOK_FIELDS.timestamp]: String(Math.floor(now / 1000)),
  };
  if (authentication !== undefined) headers["authorization"] = `${authentication.scheme} ${authentication.credentials}`.trim();
  if (token !== "") headers[WEBHOOK_FIELDS.token] = headers[WEBHOOK_FIELDS.goToken] = token;
  if (signature !== undefined) {
    headers[WEBHOOK_FIELDS.signature] = signature;
    headers["authorization"] ??= `Bearer ${signature}`;
  }
  return { url: new URL(url), headers, body: toJsonString(StreamResponseSchema, event) };
}
