import { setTimeout as delay } from "node:timers/promises";
import { type Dialed, dial } from "./dial.ts";
import { type Locator, Node, type NodeOptions } from "./node.ts";
import { type SlotRange, ownerOf, readSlots } from "./slot.ts";
import { isReply, redirectOf } from "./store-error.ts";
import type { Redirect, Topology, TopologyEvents } from "./topology.ts";
import { type Address, formatAddress } from "./url.ts";

/** What a Cluster topology begins with. */
export interface ClusterStart {
  /** The hash slot of each shard. */
  readonly slots: readonly number[];
  /** Nodes to ask when no other answers. */
  readonly seeds: readonly Address[];
  readonly ranges: readonly SlotRange[];
  /** Connections that were made already, by address. */
  readonly dialed: ReadonlyMap<string, Dialed>;
}

const REFRESH_PAUSE_MS = 100;
/** A node that serves none of our shards, and to which ASK has led, is left when it has not been asked for so long. */
const GUEST_MS = 60_000;

/** The masters of a Cluster that serve our shards, and those that ASK has led to. Who serves what is asked again whenever something hints that it has changed. */
export class Cluster implements Topology {
  readonly #options: NodeOptions;
  readonly #events: TopologyEvents;
  readonly #slots: readonly number[];
  readonly #seeds: readonly Address[];
  readonly #nodes = new Map<string, Node>();
  readonly #addresses = new Map<Node, Address>();
  readonly #owners: Node[] = [];
  readonly #ownedSince: number[] = [];
  /** When ASK last led to a node. */
  readonly #askedAt = new Map<Node, number>();
  readonly #closing = new AbortController();
  /** Nodes that dropped subscriptions since the last answer. */
  readonly #dropped = new Set<Node>();
  #refreshWanted = false;
  #refreshing: Promise<void> | undefined;
  #turn = 0;

  constructor({ slots, seeds, ranges, dialed }: ClusterStart, options: NodeOptions, events: TopologyEvents) {
    this.#options = options;
    this.#events = events;
    this.#slots = slots;
    this.#seeds = seeds;
    for (const [shard, slot] of slots.entries()) {
      const address = ownerOf(ranges, slot);
      if (address === undefined) throw new Error(`no master serves slot ${slot}`);
      this.#owners[shard] = this.#nodeAt(address, dialed.get(formatAddress(address)));
      this.#ownedSince[shard] = performance.now();
    }
  }

  node(shard: number): Node {
    const node = this.#owners[shard];
    if (node === undefined) throw new RangeError(`no shard ${shard}`);
    return node;
  }

  nodes(): readonly Node[] {
    return [...this.#nodes.values()];
  }

  upSince(shard: number): number | undefined {
    const since = this.node(shard).upSince;
    return since === undefined ? undefined : Math.max(since, this.#ownedSince[shard] ?? since);
  }

  /** Follows MOVED and ASK to a node that stands. Everything that hints at a change of the topology starts asking for it. */
  redirect(shard: number, error: unknown): Redirect | undefined {
    const to = redirectOf(error);
    if (to === undefined) {
      if (isReply(error, "CLUSTERDOWN", "READONLY", "MASTERDOWN")) this.#refresh();
      return undefined;
    }
    const asking = to.kind === "ASK";
    const host = to.host === "" ? this.#addresses.get(this.node(shard))?.host : to.host;
    if (!asking) this.#refresh();
    if (host === undefined || host === "?") return undefined;
    const node = this.#nodeAt({ host, port: to.port });
    if (asking) this.#askedAt.set(node, performance.now());
    else this.#assign([[shard, node]]);
    return node.commands.upSince === undefined ? undefined : { node, asking };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#refreshing, ...this.nodes().map((node) => node.close())]);
  }

  #nodeAt(address: Address, dialed?: Dialed): Node {
    const name = formatAddress(address);
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const locator: Locator = { find: () => Promise.resolve(address), distrust: () => undefined };
    const { onMessage, onResubscribed } = this.#events;
    const node: Node = new Node(locator, this.#options, {
      onUp: () => this.#events.onBack(this.#shardsOf(node)),
      // Of a guest the slots tell nothing; one that is none any more goes with the next answer.
      onTrouble: () => {
        if (this.#owners.includes(node) || !this.#isGuest(node)) this.#refresh();
      },
      onMoved: () => {
        this.#dropped.add(node);
        this.#refresh();
      },
      onMessage,
      onResubscribed,
    });
    this.#nodes.set(name, node);
    this.#addresses.set(node, address);
    node.start(dialed);
    return node;
  }

  #isGuest(node: Node): boolean {
    return performance.now() - (this.#askedAt.get(node) ?? -Infinity) < GUEST_MS;
  }

  #shardsOf(node: Node): readonly number[] {
    return this.#owners.flatMap((owner, shard) => (owner === node ? [shard] : []));
  }

  /** Notes new owners; subscriptions go with their shards. */
  #assign(changes: Iterable<readonly [shard: number, node: Node]>): void {
    const back: number[] = [];
    for (const [shard, node] of changes) {
      const before = this.node(shard);
      if (before === node) continue;
      this.#owners[shard] = node;
      // A slot that moves from one living master to another was away for nobody.
      if (before.upSince === undefined) this.#ownedSince[shard] = performance.now();
      node.subscriber.adopt(before.subscriber.release(shard));
      if (node.upSince !== undefined) back.push(shard);
    }
    if (back.length > 0) this.#events.onBack(back);
  }

  #refresh(): void {
    this.#refreshWanted = true;
    if (this.#closing.signal.aborted) return;
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
    });
  }

  async #refreshAll(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#refreshWanted && !signal.aborted) {
      this.#refreshWanted = false;
      const dropped = [...this.#dropped];
      const ranges = await this.#ask(dropped);
      if (signal.aborted) return;
      if (ranges !== undefined) this.#apply(ranges, dropped);
      await delay(REFRESH_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #apply(ranges: readonly SlotRange[], dropped: readonly Node[]): void {
    this.#assign(
      this.#slots.flatMap((slot, shard) => {
        const address = ownerOf(ranges, slot);
        return address === undefined ? [] : [[shard, this.#nodeAt(address)] as const];
      }),
    );
    for (const node of dropped) {
      this.#dropped.delete(node);
      node.subscriber.renew();
    }
    const owners = new Set(this.#owners);
    for (const [name, node] of this.#nodes) {
      if (owners.has(node) || this.#isGuest(node)) continue;
      this.#nodes.delete(name);
      this.#askedAt.delete(node);
      this.#addresses.delete(node);
      void node.close();
    }
  }

  /** The slots as one node sees them: first those that just said that theirs have changed, then the others in turn, then any that can be reached. */
  async #ask(first: readonly Node[]): Promise<readonly SlotRange[] | undefined> {
    const standing = [...this.#addresses].filter(([node]) => !first.includes(node));
    this.#turn += 1;
    const turn = standing.length === 0 ? 0 : this.#turn % standing.length;
    const inTurn = [...standing.slice(turn), ...standing.slice(0, turn)].map(([node]) => node);
    for (const node of [...first, ...inTurn]) {
      const { wire } = node.commands;
      const address = this.#addresses.get(node);
      if (wire?.usable !== true || address === undefined) continue;
      const ranges = await readSlots(wire, address).catch(() => undefined);
      if (ranges !== undefined) return ranges;
    }
    return await this.#askStrangers();
  }

  async #askStrangers(): Promise<readonly SlotRange[] | undefined> {
    for (const address of [...this.#seeds, ...this.#addresses.values()]) {
      const stranger = await dial(address, this.#options.dial, { signal: this.#closing.signal, anyRole: true }).catch(() => undefined);
      if (stranger === undefined) continue;
      const ranges = await readSlots(stranger.wire, address).catch(() => undefined);
      stranger.wire.destroy();
      if (ranges !== undefined) return ranges;
    }
    return undefined;
  }
}
