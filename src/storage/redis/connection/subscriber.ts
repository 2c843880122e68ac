import type { Dialed } from "./dial.ts";
import { Link } from "./link.ts";
import { RedisReplyError, isReply, unavailable } from "./store-error.ts";
import type { Wire } from "./wire.ts";

/** A channel that is subscribed to, or about to be. */
export interface Subscription {
  readonly shard: number;
  readonly channel: string;
  /** Of the first subscription that still waits for the server's answer. */
  waiting: PromiseWithResolvers<void> | undefined;
  /** Given up by its caller. */
  dropped: boolean;
}

/** What a subscriber reports. */
export interface SubscriberEvents {
  readonly onMessage: (subscription: Subscription, message: Buffer) => void;
  readonly onResubscribed: (subscription: Subscription) => void;
  /** The server has dropped channels because their slot has moved, or refuses them for that reason. */
  readonly onMoved: () => void;
  readonly onFailure: (error: unknown) => void;
  /** The connection stands again after it was lost. */
  readonly onAgain: () => void;
}

/** How many channels one SUBSCRIBE names when all are made again. */
const BATCH = 500;

/** The one subscriber connection to a node, made at the first subscription. What is subscribed stays so across connections. */
export class Subscriber {
  readonly #sharded: boolean;
  readonly #timeoutMs: number;
  readonly #events: SubscriberEvents;
  readonly #link: Link;
  #closed = false;
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(dial: (signal: AbortSignal) => Promise<Dialed>, sharded: boolean, timeoutMs: number, events: SubscriberEvents) {
    this.#sharded = sharded;
    this.#timeoutMs = timeoutMs;
    this.#events = events;
    this.#link = new Link(dial, {
      onUp: ({ wire }) => {
        wire.redis.on(sharded ? "smessageBuffer" : "messageBuffer", (channel: Buffer, message: Buffer) => {
          const subscription = this.#subscriptions.get(channel.toString());
          if (subscription !== undefined) events.onMessage(subscription, message);
        });
        wire.redis.on("moved", events.onMoved);
        this.#subscribeAll(wire);
      },
      onAgain: events.onAgain,
      onFailure: events.onFailure,
    });
  }

  /** The server the connection leads to. */
  get runId(): string | undefined {
    return this.#link.wire === undefined ? undefined : this.#link.info?.get("run_id");
  }

  /** Resolves when the server has answered. A rejected subscription does not stand. */
  async subscribe(shard: number, channel: string): Promise<void> {
    if (this.#closed) throw unavailable(undefined, "none");
    const standing = this.#subscriptions.get(channel);
    if (standing !== undefined) return await standing.waiting?.promise;
    const waiting = Promise.withResolvers<void>();
    const subscription: Subscription = { shard, channel, waiting, dropped: false };
    this.adopt([subscription]);
    // Where the connection is still being made, the subscription follows when it is there; but no one waits for that without end.
    const deadline = setTimeout(() => waiting.reject(unavailable(undefined, "unknown")), 2 * this.#timeoutMs);
    try {
      await waiting.promise;
    } catch (error) {
      // It may have gone to another node meanwhile, which sees the mark.
      subscription.dropped = true;
      if (this.#subscriptions.get(channel) === subscription) this.#subscriptions.delete(channel);
      throw error;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Ends a subscription. Where the server cannot be told, the connection is gone and the subscription with it. */
  async unsubscribe(channel: string): Promise<void> {
    this.#subscriptions.get(channel)?.waiting?.resolve();
    this.#subscriptions.delete(channel);
    await this.#link.send(this.#sharded ? "sunsubscribe" : "unsubscribe", [channel]).catch(() => undefined);
  }

  /** Gives away the subscriptions of a shard whose node is another one now. */
  release(shard: number): readonly Subscription[] {
    const released = [...this.#subscriptions.values()].filter((subscription) => subscription.shard === shard);
    for (const { channel } of released) this.#subscriptions.delete(channel);
    return released;
  }

  /** Takes over subscriptions of another node. */
  adopt(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) this.#subscriptions.set(subscription.channel, subscription);
    if (subscriptions.length === 0) return;
    this.#link.start();
    if (this.#link.wire !== undefined) this.#subscribe(this.#link.wire, subscriptions);
  }

  /** Makes all subscriptions again on the connection that stands. */
  renew(): void {
    if (this.#link.wire !== undefined) this.#subscribeAll(this.#link.wire);
  }

  /** Leaves the connection; a new one is made and all subscriptions on it. */
  drop(): void {
    this.#link.drop();
  }

  /** Ends the connection; those who still wait are told. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { waiting } of this.#subscriptions.values()) waiting?.reject(unavailable(undefined, "none"));
    this.#subscriptions.clear();
    await this.#link.close();
  }

  #subscribeAll(wire: Wire): void {
    const byShard = Map.groupBy(this.#subscriptions.values(), ({ shard }) => shard);
    for (const subscriptions of byShard.values()) {
      for (let start = 0; start < subscriptions.length; start += BATCH) this.#subscribe(wire, subscriptions.slice(start, start + BATCH));
    }
  }

  /** Sends one SUBSCRIBE (in a Cluster the channels must share a slot, so they are of one shard) and tells who waits. */
  #subscribe(wire: Wire, subscriptions: readonly Subscription[]): void {
    const channels = subscriptions.map(({ channel }) => channel);
    // Lowercase: ioredis keeps its list of channels under the name as it is given.
    const sent = wire.send(this.#sharded ? "ssubscribe" : "subscribe", channels);
    void sent.then(
      () => subscriptions.forEach((subscription) => this.#answered(subscription)),
      (error: unknown) => this.#refused(wire, subscriptions, error),
    );
  }

  #answered(subscription: Subscription): void {
    if (this.#subscriptions.get(subscription.channel) !== subscription) return;
    if (subscription.dropped) {
      void this.unsubscribe(subscription.channel);
    } else if (subscription.waiting === undefined) {
      this.#events.onResubscribed(subscription);
    } else {
      subscription.waiting.resolve();
      subscription.waiting = undefined;
    }
  }

  #refused(wire: Wire, subscriptions: readonly Subscription[], error: unknown): void {
    if (isReply(error, "MOVED")) {
      this.#events.onMoved();
      return;
    }
    const standing = subscriptions.filter(({ waiting }) => waiting === undefined);
    for (const { waiting } of subscriptions) waiting?.reject(error);
    // What stood before must stand again: the next connection tries anew.
    if (standing.length > 0 && error instanceof RedisReplyError) {
      this.#events.onFailure(error);
      wire.destroy();
    } else if (standing.length > 0 && wire.usable) {
      wire.destroy();
    }
  }
}
