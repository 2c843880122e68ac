/** Options of a receiver of webhooks: every default in one place. */
import type { Inbox } from "./inbox.ts";
import { MemoryInbox } from "./inbox.ts";
import type { Notification } from "./notification.ts";
import type { NotificationJwt } from "./notification-jwt.ts";

/** Options, complete. */
export interface WebhookReceiverOptions {
  /** Where the receiver is, as agents reach it; each webhook is a path below. */
  readonly url: string;
  /** 32 random bytes or more, from which tokens and credentials follow; the same in every process that receives, and at every start. */
  readonly secret: string | Uint8Array;
  /** Whether webhooks have credentials for `Authorization` besides their token. Some servers send the token only. Default true. */
  readonly authentication: boolean;
  /** Wants every notification signed, by this issuer. Default: signatures are not looked at. */
  readonly jwt: NotificationJwt | undefined;
  /** Where notifications are kept. Default: in this process. */
  readonly inbox: Inbox;
  /**
   * Whether a task is one that is waited for. A webhook is for one task in any case: the first that was told of with its token. Throwing makes the
   * sender try again. Default: every task is.
   */
  readonly expected: ((notification: Notification) => boolean | Promise<boolean>) | undefined;
  /** Called with each notification, one after the other; one for which it throws is tried again. Default: whoever iterates the receiver gets them. */
  readonly receive: ((notification: Notification) => void | Promise<void>) | undefined;
  /** Told of what `receive` threw, or, without a notification, the inbox. Must not throw. Default: nobody is told. */
  readonly failed: ((error: unknown, notification: Notification | undefined) => void) | undefined;
  /** The pause before `receive` is called again; twice as long each time, up to a minute. Default 1 s. */
  readonly retryMs: number;
  /** Largest body, in bytes. Default 20 MiB: a whole task may come. */
  readonly maxBytes: number;
  /** Requests at once; others are asked to come back. Default 64. */
  readonly atOnce: number;
  /** How far a sender's clock may be off, and how late a notification may be. Default 300 s. */
  readonly toleranceSeconds: number;
}

/** Options as they are given. */
export type WebhookReceiverInit = Pick<WebhookReceiverOptions, "url" | "secret"> & Partial<WebhookReceiverOptions>;

/** Completes options. Throws TypeError where one is wrong. */
export function resolveReceiverOptions(given: WebhookReceiverInit): WebhookReceiverOptions {
  const url = URL.parse(given.url);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TypeError("url: it must be an absolute http or https URL");
  if (url.search !== "" || url.hash !== "") throw new TypeError("url: it must have neither query nor fragment");
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as WebhookReceiverInit;
  return {
    authentication: true,
    jwt: undefined,
    inbox: new MemoryInbox(),
    expected: undefined,
    receive: undefined,
    failed: undefined,
    retryMs: 1000,
    maxBytes: 20 * 1024 * 1024,
    atOnce: 64,
    toleranceSeconds: 300,
    ...set,
    url: url.href.replace(/\/$/, ""),
  };
}
