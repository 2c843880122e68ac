/** A receiver of an agent's webhooks: what it hands on is authentic, stored, and new (requirements 5.5). */
import { createHash } from "node:crypto";
import { type JsonValue, fromJson } from "@bufbuild/protobuf";
import { errors, type JWTPayload } from "jose";
import { type StreamResponse, StreamResponseSchema, type TaskPushNotificationConfig } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { WEBHOOK_FIELDS } from "../../core/task-notification.ts";
import { backoffMs, pause } from "../pause.ts";
import type { StoredNotification } from "./inbox.ts";
import { fromNode, type NodeRequest, type NodeResponse, toNode } from "./node-handler.ts";
import { type Notification, notificationOf } from "./notification.ts";
import { isAbout, JwtCheck } from "./notification-jwt.ts";
import { resolveReceiverOptions, type WebhookReceiverInit, type WebhookReceiverOptions } from "./receiver-options.ts";
import { type Delivered, readBody, Refused, type Reply } from "./webhook-exchange.ts";
import { isSame, WebhookSecrets } from "./webhook-secrets.ts";

const TYPES: ReadonlySet<string> = new Set(["application/a2a+json", "application/json"]);
const WEBHOOK_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const EVENT_ID = /^[\x21-\x7e]{1,512}$/;
const MAX_RETRY_MS = 60_000;
/** Keys that cannot be fetched, or are newer than those that were, say nothing about a signature. */
const NO_KEY: ReadonlySet<string> = new Set([
  "ERR_JOSE_GENERIC",
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
  errors.JWKSNoMatchingKey.code,
]);

/** Makes a receiver. Throws TypeError where an option is wrong. */
export function webhookReceiver(init: WebhookReceiverInit): WebhookReceiver {
  return new WebhookReceiver(resolveReceiverOptions(init));
}

/**
 * Receives. Mount `handle` or `fetch` where `url` leads; give a task {@link configuration}; take what comes by the option `receive`, or by iterating.
 * A notification that was handed on counts as dealt with when the next one is asked for; what was not is handed on again after a restart,
 * where the inbox outlives one.
 */
export class WebhookReceiver implements AsyncIterable<Notification>, AsyncDisposable {
  readonly #options: WebhookReceiverOptions;
  readonly #secrets: WebhookSecrets;
  readonly #jwt: JwtCheck | undefined;
  readonly #over = new AbortController();
  #arrived = Promise.withResolvers<void>();
  #open = 0;
  #iterated = false;
  readonly #receiving: Promise<void>;

  constructor(options: WebhookReceiverOptions) {
    const { url, secret, jwt, toleranceSeconds, receive } = options;
    this.#options = options;
    this.#secrets = new WebhookSecrets(secret);
    this.#jwt = jwt && new JwtCheck(jwt, new URL(url).origin, toleranceSeconds);
    this.#receiving = receive === undefined ? Promise.resolve() : this.#receive(receive);
  }

  /** A new configuration, for one task: with a send, or for CreateTaskPushNotificationConfig. It has an id, a token and credentials of its own. */
  configuration(): Pick<TaskPushNotificationConfig, "id" | "url" | "token"> & {
    readonly authentication?: { readonly scheme: string; readonly credentials: string };
  } {
    const id = crypto.randomUUID();
    const credentials = this.#secrets.credentialsOf(id);
    return {
      id,
      url: `${this.#options.url}/${id}`,
      token: this.#secrets.tokenOf(id),
      ...(this.#options.authentication && { authentication: { scheme: "Bearer", credentials } }),
    };
  }

  /** For node:http and frameworks upon it. What they do to the path before the webhook's id does not matter. */
  readonly handle = async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    toNode(await this.#answer(fromNode(request)), request, response);
  };

  /** For whatever speaks in Request and Response. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request;
    const body = request.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
    const { status, text, headers: fields } = await this.#answer({ method, path: new URL(url).pathname, headers, body });
    return new Response(status === 204 ? null : text, { status, headers: fields });
  };

  /** What comes, in the order of its arrival, what was pending before included. Once, and only without the option `receive`. */
  [Symbol.asyncIterator](): AsyncIterator<Notification, undefined> {
    if (this.#iterated || this.#options.receive !== undefined)
      throw new TypeError("a receiver is iterated once, and not where it has receive");
    this.#iterated = true;
    return this.#notifications();
  }

  /** Hands on no more. Requests are still answered. Idempotent. */
  async close(): Promise<void> {
    this.#over.abort();
    this.#arrived.resolve();
    await this.#receiving;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *#notifications(): AsyncGenerator<Notification, undefined> {
    const { inbox } = this.#options;
    while (!this.#over.signal.aborted) {
      this.#arrived = Promise.withResolvers();
      const { promise } = this.#arrived;
      const pending = await inbox.pending();
      for (const stored of pending) {
        if (this.#over.signal.aborted) return undefined;
        yield notificationOf(eventOf(JSON.parse(stored.body) as JsonValue), stored);
        await inbox.done(stored);
      }
      if (pending.length === 0 && !this.#over.signal.aborted) await promise;
    }
    return undefined;
  }

  async #receive(receive: (notification: Notification) => void | Promise<void>): Promise<void> {
    for (let attempt = 0; !this.#over.signal.aborted; attempt += 1) {
      try {
        for await (const notification of this.#notifications()) {
          if (!(await this.#isReceived(receive, notification))) break;
          attempt = -1;
        }
      } catch (error) {
        this.#options.failed?.(error, undefined);
      }
      const wait = backoffMs(Math.max(0, attempt), { baseMs: this.#options.retryMs, maxMs: MAX_RETRY_MS });
      await pause(wait, this.#over.signal).catch(() => undefined);
    }
  }

  async #isReceived(receive: (notification: Notification) => void | Promise<void>, notification: Notification): Promise<boolean> {
    try {
      await receive(notification);
      return true;
    } catch (error) {
      this.#options.failed?.(error, notification);
      return false;
    }
  }

  async #answer(delivered: Delivered): Promise<Reply> {
    let isRead = false;
    this.#open += 1;
    try {
      const webhookId = this.#judgeHead(delivered);
      const claims = await this.#claimsOf(delivered);
      const body = await readBody(delivered, this.#options.maxBytes);
      isRead = true;
      await this.#take(webhookId, delivered.headers, claims, body);
      return { status: 204, headers: {}, text: "", isRead };
    } catch (error) {
      if (error instanceof Refused) return { status: error.status, headers: error.headers, text: `${error.message}\n`, isRead };
      // Whatever it was, nothing was stored, and the sender tries again.
      return { status: 503, headers: { "retry-after": "1" }, text: "the notification could not be stored\n", isRead };
    } finally {
      this.#open -= 1;
    }
  }

  /** Everything that can be judged before the body is read. Answers the webhook's id. */
  #judgeHead({ method, path, headers }: Delivered): string {
    const { atOnce, toleranceSeconds, authentication } = this.#options;
    if (this.#open > atOnce) throw new Refused(429, "too many notifications at once", { "retry-after": "1" });
    const webhookId = path.slice(path.lastIndexOf("/") + 1);
    if (!WEBHOOK_ID.test(webhookId)) throw new Refused(404, "there is no such webhook");
    if (method !== "POST") throw new Refused(405, "notifications are posted", { allow: "POST" });
    const token = headers.get(WEBHOOK_FIELDS.token) ?? headers.get(WEBHOOK_FIELDS.goToken) ?? "";
    const hasToken = isSame(token, this.#secrets.tokenOf(webhookId));
    const hasCredentials = !authentication || isSame(bearerOf(headers), this.#secrets.credentialsOf(webhookId));
    if (!hasToken || !hasCredentials)
      throw new Refused(401, "token or credentials are not those of this webhook", { "www-authenticate": "Bearer" });
    const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (!TYPES.has(type) || (headers.get("content-encoding") ?? "identity") !== "identity")
      throw new Refused(415, "a notification is application/a2a+json or application/json, and not compressed");
    const sent = headers.get(WEBHOOK_FIELDS.timestamp);
    if (sent !== null && !(Math.abs(Date.now() / 1000 - Number(sent)) <= toleranceSeconds))
      throw new Refused(400, `the timestamp is more than ${toleranceSeconds} s away`);
    return webhookId;
  }

  /** What a signature says, where one is wanted. */
  async #claimsOf({ headers }: Delivered): Promise<JWTPayload | undefined> {
    if (this.#jwt === undefined) return undefined;
    try {
      return await this.#jwt.claimsOf(headers.get(WEBHOOK_FIELDS.signature) ?? bearerOf(headers));
    } catch (error) {
      if (!(error instanceof errors.JOSEError) || NO_KEY.has(error.code)) throw error;
      throw new Refused(401, "the signature is not a good one, or too old", { "www-authenticate": "Bearer" });
    }
  }

  async #take(webhookId: string, headers: Headers, claims: JWTPayload | undefined, body: Buffer): Promise<void> {
    const { inbox, expected } = this.#options;
    if (claims !== undefined && !isAbout(claims, body))
      throw new Refused(401, "the signature is about another body", { "www-authenticate": "Bearer" });
    const text = body.toString("utf8");
    const event = readEvent(text);
    const id = idOf(headers, claims, body);
    const notification = notificationOf(event, { webhookId, id, receivedAt: Date.now() });
    const { taskId, receivedAt } = notification;
    // a message may name no task; its webhook says whose it is.
    if (taskId !== "" && (await inbox.bind(webhookId, taskId)) !== taskId) throw new Refused(403, "this webhook is for another task");
    if (expected !== undefined && !(await expected(notification))) throw new Refused(403, "nobody waits for this task");
    const stored: StoredNotification = { webhookId, id, receivedAt, body: text };
    if (await inbox.put(stored)) this.#arrived.resolve();
  }
}

/** The event's id, that of its signature, or what it says. */
function idOf(headers: Headers, claims: JWTPayload | undefined, body: Buffer): string {
  const given = headers.get(WEBHOOK_FIELDS.id) ?? claims?.jti;
  if (claims?.jti !== undefined && given !== claims.jti)
    throw new Refused(401, "the signature is about another event", { "www-authenticate": "Bearer" });
  if (given !== undefined && EVENT_ID.test(given)) return given;
  return `sha256:${createHash("sha256").update(body).digest("hex")}`;
}

function bearerOf(headers: Headers): string {
  return /^bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1] ?? "";
}

function readEvent(text: string): StreamResponse {
  let json: JsonValue;
  try {
    json = JSON.parse(text) as JsonValue;
  } catch {
    throw new Refused(400, "the body is no JSON");
  }
  try {
    const event = eventOf(json);
    if (event.payload.case !== undefined) return event;
  } catch {
    // As below: it is not told what was sent.
  }
  throw new Refused(400, "the body is not exactly one of task, message, statusUpdate and artifactUpdate");
}

function eventOf(json: JsonValue): StreamResponse {
  return fromJson(StreamResponseSchema, json, { ignoreUnknownFields: true });
}
