/** A receiver of webhooks behind a real port, and requests to it that are as good or as bad as a test wants. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Inbox } from "../../src/client/webhook-receiver/inbox.ts";
import type { Notification } from "../../src/client/webhook-receiver/notification.ts";
import type { WebhookReceiverInit } from "../../src/client/webhook-receiver/receiver-options.ts";
import { type WebhookReceiver, webhookReceiver } from "../../src/client/webhook-receiver/webhook-receiver.ts";

export const SECRET = "a secret of thirty-two bytes, at least";

/** A notification as another SDK would send it. */
export const WORKING = { statusUpdate: { taskId: "t-1", contextId: "c-1", status: { state: "TASK_STATE_WORKING" } } };
export const DONE = { statusUpdate: { taskId: "t-1", contextId: "c-1", status: { state: "TASK_STATE_COMPLETED" } } };

/** A running receiver. */
export interface WebhookBed extends AsyncDisposable {
  readonly receiver: WebhookReceiver;
  /** One webhook of it. */
  readonly webhook: ReturnType<WebhookReceiver["configuration"]>;
  /** Header fields that this webhook is to come with. */
  readonly good: Readonly<Record<string, string>>;
  /** Posts to it; answers the status. */
  post(body: unknown, headers?: Readonly<Record<string, string | undefined>>): Promise<Response>;
}

/** Opens a receiver on this machine. */
export async function openReceiver(init: Partial<WebhookReceiverInit> = {}): Promise<WebhookBed> {
  const server = createServer((request, response) => void bed.receiver.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver = webhookReceiver({ url: `http://127.0.0.1:${port}/hooks`, secret: SECRET, ...init });
  const webhook = receiver.configuration();
  const { authentication } = webhook;
  const good: Record<string, string> = {
    "content-type": "application/a2a+json",
    "x-a2a-notification-token": webhook.token,
    ...(authentication && { authorization: `${authentication.scheme} ${authentication.credentials}` }),
  };
  const bed: WebhookBed = {
    receiver,
    webhook,
    good,
    post: (body, headers = {}) => {
      const fields = Object.entries({ ...good, ...headers }).filter((field): field is [string, string] => field[1] !== undefined);
      const text = typeof body === "string" || body instanceof ReadableStream ? body : JSON.stringify(body);
      return fetch(webhook.url, { method: "POST", headers: fields, body: text, duplex: "half" });
    },
    [Symbol.asyncDispose]: async () => {
      await receiver.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return bed;
}

/** What an inbox has not handed on, readable. */
export async function pendingIn(inbox: Inbox): Promise<string[]> {
  return (await inbox.pending()).map(({ body }) => Object.keys(JSON.parse(body) as object).join());
}

/** The first so many. */
export async function taken(from: AsyncIterable<Notification>, count: number): Promise<Notification[]> {
  const got: Notification[] = [];
  for await (const notification of from) if (got.push(notification) === count) break;
  return got;
}

/** Seconds since 1970, so many from now, as header fields have them. */
export const seconds = (from: number): string => String(Math.floor(Date.now() / 1000) + from);
