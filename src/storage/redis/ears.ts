/** What comes over channels, given to whom it is for: readers of a log, the owner of a task, who looks for work. */
import type { Hint, Listening } from "../../core/storage.ts";
import type { RedisContext } from "./context.ts";
import type { Tailer } from "./tailer.ts";
import type { Takes } from "./takes.ts";

/** How long a subscription that could not be made waits for the next try. */
const RETRY_MS = 500;

/** One replica's ear. */
interface Ear {
  readonly replica: string;
  readonly hear: (hint: Hint) => void;
}

/** Distributes messages. */
export class Ears {
  readonly #context: RedisContext;
  readonly #takes: Takes;
  readonly #tailer: Tailer;
  readonly #ears = new Set<Ear>();
  /** Called when the store was away and can be asked again. */
  onBack: () => void = () => undefined;

  constructor(context: RedisContext, takes: Takes, tailer: Tailer) {
    this.#context = context;
    this.#takes = takes;
    this.#tailer = tailer;
    context.connections.onMessage = (shard, channel, message) => this.#message(shard, channel, message);
    context.connections.onResubscribed = (shard, channel) => this.#resubscribed(shard, channel);
    context.connections.onBack = () => {
      this.onBack();
      this.tell({ is: "back" });
    };
  }

  /** A task of this shard waits. */
  noteWaiting(taskId: string): void {
    const shard = this.#context.of(taskId)?.shard;
    if (shard !== undefined) this.#takes.noteWaiting(shard);
  }

  /** Registers an ear on the inbox of a replica and on what becomes ready, in every shard. */
  listen(replica: string, hear: (hint: Hint) => void): Listening {
    const ear = { replica, hear };
    this.#ears.add(ear);
    const subscribed = this.#channels(replica).flatMap(({ shard, wake, inbox }) => [
      this.#subscribe(ear, shard, wake),
      this.#subscribe(ear, shard, inbox),
    ]);
    const ready = Promise.all(subscribed).then(() => undefined);
    return { ready, [Symbol.dispose]: () => this.#leave(ear) };
  }

  #channels(replica: string): { shard: number; wake: string; inbox: string }[] {
    return this.#context.shards.map((keys) => ({ shard: keys.shard, wake: keys.wake, inbox: keys.inbox(replica) }));
  }

  async #subscribe(ear: Ear, shard: number, channel: string): Promise<void> {
    while (this.#ears.has(ear)) {
      try {
        await this.#context.connections.subscribe(shard, channel);
        return;
      } catch {
        // Redis is away. Hints are lossy: renewals and sweeps go on without them meanwhile.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  }

  #leave(ear: Ear): void {
    this.#ears.delete(ear);
    const inUse = new Set([...this.#ears].map(({ replica }) => replica));
    for (const { shard, wake, inbox } of this.#channels(ear.replica)) {
      if (!inUse.has(ear.replica)) this.#unsubscribe(shard, inbox);
      if (this.#ears.size === 0) this.#unsubscribe(shard, wake);
    }
  }

  #unsubscribe(shard: number, channel: string): void {
    // Where the connection is lost, the subscription is too.
    this.#context.connections.unsubscribe(shard, channel).catch(() => undefined);
  }

  #message(shard: number, channel: string, message: Buffer): void {
    const keys = this.#context.keys(shard);
    const events = keys.events("");
    if (channel.startsWith(events)) return this.#tailer.message(channel.slice(events.length), message);
    if (channel === keys.wake) {
      this.#takes.noteWaiting(shard);
      return this.tell({ is: "ready" });
    }
    for (const { replica, hear } of this.#ears) {
      if (channel === keys.inbox(replica)) hear({ is: "command", taskId: message.toString() });
    }
    return undefined;
  }

  #resubscribed(shard: number, channel: string): void {
    const keys = this.#context.keys(shard);
    const events = keys.events("");
    if (channel.startsWith(events)) return this.#tailer.resubscribed(channel.slice(events.length));
    // A renewal tells of every command that was not heard of.
    if (channel !== keys.wake) return this.tell({ is: "back" });
    this.#takes.noteWaiting(shard);
    return this.tell({ is: "ready" });
  }

  /** Tells every ear of this replica. */
  tell(hint: Hint): void {
    for (const { hear } of this.#ears) hear(hint);
  }
}
