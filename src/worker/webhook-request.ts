/** One notification as it goes over the wire. */
import { createHash } from "node:crypto";
import { toJsonString } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { WEBHOOK_FIELDS } from "../core/task-notification.ts";
import { type TraceContext, traceHeaders } from "../core/trace-context.ts";

/** What a webhook is told besides the event. */
export interface NotificationFacts {
  readonly taskId: string;
  /** The same for every attempt: by it a receiver drops repeats. */
  readonly eventId: string;
  /** When this attempt is made, in milliseconds since 1970: by it a receiver refuses what is stale. */
  readonly now: number;
  /** Where the attempt stands in a trace. */
  readonly trace?: TraceContext | undefined;
}

/** What a signature says of a notification. */
interface NotificationClaims {
  /** The webhook's origin. */
  readonly audience: string;
  readonly taskId: string;
  readonly eventId: string;
  /** SHA-256 of the body, in hexadecimal. */
  readonly bodySha256: string;
}

/** Makes a JWT that a receiver checks against published keys. */
export type SignNotification = (claims: NotificationClaims) => Promise<string>;

/** A POST. */
export interface WebhookRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The request for one event: a bare StreamResponse, with the credentials that the configuration gives. */
export async function webhookRequest(
  { url: given, token, authentication }: TaskPushNotificationConfig,
  event: StreamResponse,
  { taskId, eventId, now, trace }: NotificationFacts,
  sign?: SignNotification,
): Promise<WebhookRequest> {
  const url = new URL(given);
  const body = toJsonString(StreamResponseSchema, event);
  const headers: Record<string, string> = {
    "content-type": "application/a2a+json",
    "user-agent": "throughline",
    [WEBHOOK_FIELDS.id]: eventId,
    [WEBHOOK_FIELDS.timestamp]: String(Math.floor(now / 1000)),
    ...traceHeaders(trace),
  };
  if (authentication !== undefined) headers["authorization"] = `${authentication.scheme} ${authentication.credentials}`.trim();
  if (token !== "") headers[WEBHOOK_FIELDS.token] = headers[WEBHOOK_FIELDS.goToken] = token;
  if (sign !== undefined) {
    const bodySha256 = createHash("sha256").update(body).digest("hex");
    const signature = await sign({ audience: url.origin, taskId, eventId, bodySha256 });
    headers[WEBHOOK_FIELDS.signature] = signature;
    headers["authorization"] ??= `Bearer ${signature}`;
  }
  return { url, headers, body };
}
