import { type Locator, Node, type NodeEvents, type NodeOptions } from "./node.ts";
import type { Dialed } from "./dial.ts";
import type { Subscription } from "./subscriber.ts";

/** What a topology reports. */
export interface TopologyEvents {
  readonly onBack: (shards: readonly number[]) => void;
  readonly onMessage: (subscription: Subscription, message: Buffer) => void;
  readonly onResubscribed: (subscription: Subscription) => void;
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
  redirect?(shard: number, error: unknown): Node | undefined;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** One master for all shards: a single server, or the one that Sentinels name. */
export class OneNode implements Topology {
  readonly #node: Node;

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

  close(): Promise<void> {
    return this.#node.close();
  }
}
