import { setTimeout as delay } from "node:timers/promises";
import { type Locator, Node, type NodeEvents, type NodeOptions } from "./node.ts";
import type { Dialed } from "./dial.ts";
import type { Subscription } from "./subscriber.ts";

/** What a topology reports. */
export interface TopologyEvents {
  readonly onBack: (shards: readonly number[]) => void;
  readonly onMessage: (subscription: Subscription, message: Buffer) => void;
  readonly onResubscribed: (subscription: Subscription) => void;
}

/** Where a command is to be sent again. */
export interface Redirect {
  readonly node: Node;
  /** Whether it is for this one command only (ASK): the node is about to get the slot, and wants to hear that its caller knows. */
  readonly asking: boolean;
}

/** Which node each shard lives on. */
export interface Topology {
  /** The node of a shard. */
  node(shard: number): Node;
  /** All nodes that hold shards. */
  nodes(): readonly Node[];
  /** performance.now() since which the shard's master has been reachable and the same one. */
  upSince(shard: number): number | undefined;
  /** Where a failed command of a shard is to be sent again, nothing having been executed; undefined where nowhere. Missing where no server redirects. */
  redirect?(shard: number, error: unknown): Redirect | undefined;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** How often sentinels are asked who the master is. */
const WATCH_MS = 500;

/** One master for all shards: a single server, or the one that Sentinels name. */
export class OneNode implements Topology {
  readonly #node: Node;
  readonly #closing = new AbortController();
  readonly #watching: Promise<void>;

  constructor(
    locator: Locator,
    shards: number,
    options: NodeOptions,
    { onBack, onMessage, onResubscribed }: TopologyEvents,
    first: Dialed,
  ) {
    const all = Array.from({ length: shards }, (_, shard) => shard);
    const events: NodeEvents = {
      onUp: () => onBack(all),
      onTrouble: () => undefined,
      onMoved: () => undefined,
      onMessage,
      onResubscribed,
    };
    this.#node = new Node(locator, options, events);
    this.#node.start(first);
    this.#watching = this.#watch(locator);
  }

  /** A master that was replaced on purpose does not go away by itself, and takes writes that are lost until it is told, many seconds later. */
  async #watch(locator: Locator): Promise<void> {
    if (locator.switched === undefined) return;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await delay(WATCH_MS, undefined, { signal, ref: false }).catch(() => undefined);
      // Where no sentinel answers, the master that we have is as good as any.
      const address = signal.aborted ? undefined : await locator.switched(signal).catch(() => undefined);
      if (address !== undefined) this.#node.moveTo(address);
    }
  }

  node(): Node {
    return this.#node;
  }

  nodes(): readonly Node[] {
    return [this.#node];
  }

  upSince(): number | undefined {
    return this.#node.upSince;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#node.close(), this.#watching]);
  }
}
