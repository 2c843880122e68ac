import type { RedisOptions } from "./redis-options.ts";
import type { Arg, Call, Reply, Script } from "./reply.ts";
import type { Node } from "./node.ts";
import { type ConnectionFacts, openTopology } from "./open-topology.ts";
import { isReply, outcomeUnknown } from "./store-error.ts";
import type { Topology } from "./topology.ts";

export type { ConnectionFacts } from "./open-topology.ts";
export type { Arg, Call, Reply, Script } from "./reply.ts";
export { RedisReplyError, StoreSetupError, outcomeUnknown } from "./store-error.ts";

/** Sends to a node, behind ASKING where it has to. */
type Send = (node: Node, asking: boolean) => Promise<Reply>;

/**
 * All connections to Redis, by shard. Every promise settles: at once where the shard's master is away, otherwise within the time limit
 * of the command. Failures of that kind are TaskErrors STORE_UNAVAILABLE, and `outcomeUnknown` tells whether the command may have been
 * executed; other error replies are RedisReplyErrors. A command is sent once; only MOVED and ASK replies, before which nothing is executed, are followed.
 */
export class Connections implements AsyncDisposable {
  /** Called for every message of a subscribed channel. */
  onMessage: (shard: number, channel: string, message: Buffer) => void = () => undefined;
  /** Called when a subscription was interrupted and stands again: what was published in between is lost. */
  onResubscribed: (shard: number, channel: string) => void = () => undefined;
  /** Called when the master of these shards can be used again after having been away, or is another server now. */
  onBack: (shards: readonly number[]) => void = () => undefined;
  /** Whether `confirmed` does something: with `replicated`, and with `fsync` where the server does not fsync before it answers. */
  readonly durable: boolean;
  /** The command that publishes on this kind of Redis. */
  readonly publishCommand: "PUBLISH" | "SPUBLISH";
  readonly #topology: Topology;
  readonly #shards: number;

  private constructor(topology: Topology, shards: number, durable: boolean, sharded: boolean) {
    this.#topology = topology;
    this.#shards = shards;
    this.durable = durable;
    this.publishCommand = sharded ? "SPUBLISH" : "PUBLISH";
  }

  /** Connects and runs the start checks. Throws StoreSetupError, after 5 seconds at the latest. */
  static async open(options: RedisOptions, facts: ConnectionFacts): Promise<Connections> {
    let connections: Connections | undefined;
    const { topology, durable, sharded } = await openTopology(options, facts, {
      onBack: (shards) => connections?.onBack(shards),
      onMessage: ({ shard, channel }, message) => connections?.onMessage(shard, channel, message),
      onResubscribed: ({ shard, channel }) => connections?.onResubscribed(shard, channel),
    });
    connections = new Connections(topology, options.shards, durable, sharded);
    return connections;
  }

  /** Sends one command to the master of the shard. */
  call(shard: number, ...call: Call): Promise<Reply> {
    const [name, ...args] = call;
    return this.#route(shard, (node, asking) => node.commands.send(name, args, asking));
  }

  /** Sends one script to the master of the shard. */
  script(shard: number, script: Script, keys: readonly string[], args: readonly Arg[]): Promise<Reply> {
    return this.#route(shard, (node, asking) => node.commands.script(script, keys, args, asking));
  }

  /** Sends several commands in one write; no transaction. Rejects if one fails, when all are settled; with an unknown outcome if one is unknown. */
  async many(shard: number, calls: readonly Call[]): Promise<readonly Reply[]> {
    const { wire } = this.#topology.node(shard).commands;
    if (wire === undefined) return await Promise.all(calls.map((call) => this.call(shard, ...call)));
    const sent = wire.sendAll(calls.map(([name, ...args]) => [name, args] as const));
    const settled = await Promise.allSettled(
      sent.map((reply, index) =>
        this.#followed(shard, reply, (node, asking) => node.commands.send(...split(calls[index] as Call), asking)),
      ),
    );
    const failures = settled.filter((result) => result.status === "rejected").map(({ reason }) => reason as unknown);
    if (failures.length > 0) throw failures.find(outcomeUnknown) ?? failures[0];
    return settled.map((result) => (result as PromiseFulfilledResult<Reply>).value);
  }

  /** As `script`, on the connection whose writes `confirmed` confirms: the shard's own, so ASK is not followed. Resolves on the reply. */
  write(shard: number, script: Script, keys: readonly string[], args: readonly Arg[]): Promise<Reply> {
    return this.#followed(shard, this.#topology.node(shard).write(script, keys, args), (node) => node.write(script, keys, args), false);
  }

  /**
   * Resolves when the writes that this process sent to the shard's node, and that were answered before this call, are as safe as the
   * durability asks; rejects with an unknown outcome otherwise. It can only tell for writes of the connection that stands now:
   * `epoch` is `writerEpoch` of before the write, and where it differs the call rejects. Without it, call this in the turn of the write's reply.
   */
  confirmed(shard: number, epoch?: number): Promise<void> {
    return this.#topology.node(shard).confirmed(epoch);
  }

  /** A number that names the connection `write` would use now; undefined while there is none. */
  writerEpoch(shard: number): number | undefined {
    return this.#topology.node(shard).writer.wire?.id;
  }

  /** Subscribes; resolves when the server has answered. The subscription stands across connections until `unsubscribe`. Rejected, it does not stand. */
  subscribe(shard: number, channel: string): Promise<void> {
    return this.#topology.node(shard).subscriber.subscribe(shard, channel);
  }

  /** Ends a subscription; never rejects. */
  unsubscribe(shard: number, channel: string): Promise<void> {
    return this.#topology.node(shard).subscriber.unsubscribe(channel);
  }

  /** performance.now() since which the shard's master has been reachable without interruption; undefined while it is not. */
  upSince(shard: number): number | undefined {
    return this.#topology.upSince(shard);
  }

  /** Whether every shard's master is reachable now. */
  available(): boolean {
    for (let shard = 0; shard < this.#shards; shard += 1) {
      if (this.#topology.upSince(shard) === undefined) return false;
    }
    return true;
  }

  /** Ends all connections; what is unanswered rejects. */
  close(): Promise<void> {
    return this.#topology.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #route(shard: number, send: Send): Promise<Reply> {
    return this.#followed(shard, send(this.#topology.node(shard), false), send);
  }

  #followed(shard: number, sent: Promise<Reply>, again: Send, asks = true): Promise<Reply> {
    const topology = this.#topology;
    if (topology.redirect === undefined) return sent;
    return sent.catch((error: unknown) => {
      const to = !asks && isReply(error, "ASK") ? undefined : topology.redirect?.(shard, error);
      if (to === undefined) throw error;
      return again(to.node, to.asking);
    });
  }
}

function split([name, ...args]: Call): [name: string, args: readonly Arg[]] {
  return [name, args];
}
