import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "./cluster.ts";
import type { Confirmation } from "./confirm.ts";
import { type DialOptions, type Dialed, DialError } from "./dial.ts";
import { Dials } from "./dials.ts";
import { planConfirmation } from "./durability.ts";
import type { Locator, NodeOptions } from "./node.ts";
import type { RedisOptions } from "./redis-options.ts";
import { SentinelFinder } from "./sentinel.ts";
import { checkConfig, checkMaster, checkOptions, checkServer, configTag } from "./start-checks.ts";
import { ownerOf, readSlots, slotOf } from "./slot.ts";
import { StoreSetupError } from "./store-error.ts";
import { readTlsFiles } from "./tls-files.ts";
import { OneNode, type Topology, type TopologyEvents } from "./topology.ts";
import { type Address, type RedisUrl, formatAddress, parseRedisUrl } from "./url.ts";
/** What the connections must know besides their options. */
export interface ConnectionFacts {
  /** The agent's name: data of one agent is refused to another. */
  readonly agent: string;
  /** The hash tag that begins every key and channel of a shard: `{throughline:0}`. */
  readonly shardTag: (shard: number) => string;
  /** Told what an operator should know: a lost server, a setting that endangers data. */
  readonly warn: (message: string) => void;
  /** Told when a connection stands again after it was lost. Default: nobody. */
  readonly onAgain?: () => void;
}

/** A topology whose connections stand, and what its Redis can do. */
export interface Opened {
  readonly topology: Topology;
  readonly durable: boolean;
  readonly sharded: boolean;
}

/** Long enough for a failover's last moments, short enough that an operator sees the cause. */
const START_LIMIT_MS = 5000;

const RETRY_MS = 100;

/** Connects and runs the start checks; what may pass in a moment (loading, failing over) is tried again until the limit. Throws StoreSetupError. */
export async function openTopology(options: RedisOptions, facts: ConnectionFacts, events: TopologyEvents): Promise<Opened> {
  checkOptions(options);
  const url = parseRedisUrl(options.url);
  const { username, password, db } = url;
  const tls = await readTlsFiles(options, url.tls);
  const opening = new Opening(options, facts, events, url, { username, password, db, tls, commandTimeoutMs: options.commandTimeoutMs });
  let failure: unknown;
  while (!opening.signal.aborted) {
    try {
      return await opening.attempt();
    } catch (error) {
      if (error instanceof StoreSetupError) throw error;
      if (failure === undefined || !opening.signal.aborted) failure = error;
      if (!(error instanceof DialError) || error.kind !== "wait") break;
      await delay(RETRY_MS);
    }
  }
  throw new StoreSetupError(`redis.url: ${failure instanceof Error ? failure.message : String(failure)}`, { cause: failure });
}

class Opening {
  readonly signal: AbortSignal = AbortSignal.timeout(START_LIMIT_MS);
  readonly #options: RedisOptions;
  readonly #facts: ConnectionFacts;
  readonly #events: TopologyEvents;
  readonly #url: RedisUrl;
  readonly #dial: DialOptions;

  constructor(options: RedisOptions, facts: ConnectionFacts, events: TopologyEvents, url: RedisUrl, dialOptions: DialOptions) {
    this.#options = options;
    this.#facts = facts;
    this.#events = events;
    this.#url = url;
    this.#dial = dialOptions;
  }

  async attempt(): Promise<Opened> {
    await using dials = new Dials(this.#dial, this.signal);
    return this.#url.kind === "cluster" ? await this.#cluster(dials) : await this.#oneNode(dials);
  }

  async #oneNode(dials: Dials): Promise<Opened> {
    const locator = this.#url.kind === "sentinel" ? new SentinelFinder(this.#url, this.#dial) : fixed(this.#url.hosts[0]);
    const dialed = await dials.master(await locator.find(this.signal));
    checkServer(dialed, this.#url);
    const confirmation = await this.#checkMaster(dialed, 0);
    await this.#checkConfig(dialed);
    dials.keep([dialed]);
    const topology = new OneNode(locator, this.#options.shards, this.#nodeOptions(confirmation), this.#events, dialed);
    return await this.#standing(topology, confirmation);
  }

  async #cluster(dials: Dials): Promise<Opened> {
    const scout = await dials.any(this.#url.hosts);
    checkServer(scout, this.#url);
    const ranges = await readSlots(scout.wire, scout.address);
    const master = async (slot: number): Promise<Dialed> => {
      const address = ownerOf(ranges, slot);
      if (address === undefined) throw new DialError("wait", `no master of the Cluster serves slot ${slot}`);
      return await dials.master(address);
    };
    const slots = Array.from({ length: this.#options.shards }, (_, shard) => slotOf(this.#facts.shardTag(shard)));
    const dialed = new Map<string, Dialed>();
    let confirmation: Confirmation | undefined;
    for (const [shard, slot] of slots.entries()) {
      const each = await master(slot);
      const name = formatAddress(each.address);
      if (dialed.has(name)) continue;
      dialed.set(name, each);
      checkServer(each, this.#url);
      confirmation = (await this.#checkMaster(each, shard)) ?? confirmation;
    }
    await this.#checkConfig(await master(slotOf(configTag(this.#options.prefix))));
    dials.keep(dialed.values());
    const topology = new Cluster({ slots, seeds: this.#url.hosts, ranges, dialed }, this.#nodeOptions(confirmation), this.#events);
    return await this.#standing(topology, confirmation);
  }

  async #checkMaster(dialed: Dialed, shard: number): Promise<Confirmation | undefined> {
    await checkMaster(dialed, this.#dial, this.#url.kind, this.#facts.shardTag(shard), this.#facts.warn);
    return await planConfirmation(dialed, this.#options, this.#facts.warn);
  }

  async #checkConfig({ wire }: Dialed): Promise<void> {
    await checkConfig((name, args) => wire.send(name, args), this.#options, this.#facts.agent);
  }

  #nodeOptions(confirmation: Confirmation | undefined): NodeOptions {
    return {
      dial: this.#dial,
      confirmation,
      sharded: this.#url.kind === "cluster",
      warn: this.#facts.warn,
      onAgain: () => this.#facts.onAgain?.(),
      verify: async (dialed) => {
        const needed = await planConfirmation(dialed, this.#options, this.#facts.warn);
        if (needed !== undefined && confirmation === undefined)
          throw new DialError("setup", "the new master no longer has appendfsync always");
      },
    };
  }

  async #standing(topology: Topology, confirmation: Confirmation | undefined): Promise<Opened> {
    const late = Promise.withResolvers<never>();
    const giveUp = (): void => late.reject(new DialError("wait", "not all connections could be made"));
    this.signal.addEventListener("abort", giveUp);
    try {
      await Promise.race([Promise.all(topology.nodes().map(({ standing }) => standing)), late.promise]);
    } catch (error) {
      await topology.close();
      throw error;
    } finally {
      this.signal.removeEventListener("abort", giveUp);
    }
    return { topology, durable: confirmation !== undefined, sharded: this.#url.kind === "cluster" };
  }
}

function fixed(address: Address): Locator {
  return { find: () => Promise.resolve(address), distrust: () => undefined };
}
