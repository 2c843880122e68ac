/** Where notifications are kept between their arrival and what is done about them. */

/** A notification as it is kept. */
export interface StoredNotification {
  readonly webhookId: string;
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly receivedAt: number;
  /** The body as it came. */
  readonly body: string;
}

/** Keeps notifications. What `put` and `bind` have answered must outlive a crash, as the sender is told then that all is well. */
export interface Inbox {
  /** Keeps one. False where this webhook has had one with this id: nothing is kept. */
  put(notification: StoredNotification): Promise<boolean>;
  /** Those that nothing was done about yet, in the order in which they came. */
  pending(): Promise<readonly StoredNotification[]>;
  /** It has been dealt with. */
  done(notification: StoredNotification): Promise<void>;
  /** Says which task a webhook is for, and answers which one it is: the first that was said stands. */
  bind(webhookId: string, taskId: string): Promise<string>;
}

/** Ids that are remembered. */
const REMEMBERED = 100_000;

/** Keeps them in this process: what is pending is lost with it. For tests, and where GetTask is asked at each start anyway. */
export class MemoryInbox implements Inbox {
  readonly #seen = new Set<string>();
  readonly #pending = new Map<string, StoredNotification>();
  readonly #tasks = new Map<string, string>();

  put(notification: StoredNotification): Promise<boolean> {
    const key = keyOf(notification);
    if (this.#seen.has(key)) return Promise.resolve(false);
    this.#seen.add(key);
    this.#pending.set(key, notification);
    const [oldest] = this.#seen;
    if (this.#seen.size > REMEMBERED && oldest !== undefined) this.#seen.delete(oldest);
    return Promise.resolve(true);
  }

  pending(): Promise<readonly StoredNotification[]> {
    return Promise.resolve([...this.#pending.values()]);
  }

  done(notification: StoredNotification): Promise<void> {
    this.#pending.delete(keyOf(notification));
    return Promise.resolve();
  }

  bind(webhookId: string, taskId: string): Promise<string> {
    const bound = this.#tasks.get(webhookId) ?? taskId;
    this.#tasks.set(webhookId, bound);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > REMEMBERED && oldest !== undefined) this.#tasks.delete(oldest);
    return Promise.resolve(bound);
  }
}

/** What tells a notification from every other one. */
export function keyOf({ webhookId, id }: Pick<StoredNotification, "webhookId" | "id">): string {
  return JSON.stringify([webhookId, id]);
}
