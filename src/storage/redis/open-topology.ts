import { setTimeout as delay } from "node:timers/promises";
import type { Confirmation } from "./confirm.ts";
import { type DialOptions, type Dialed, DialError, dial } from "./dial.ts";
import { planConfirmation } from "./durability.ts";
import type { Locator, NodeOptions } from "./node.ts";
import type { RedisOptions } from "./redis-options.ts";
import { SentinelFinder } from "./sentinel.ts";
import { checkConfig, checkMaster, checkOptions, checkServer } from "./start-checks.ts";
import { StoreSetupError } from "./store-error.ts";
import { readTlsFiles } from "./tls-files.ts";
import { OneNode, type Topology, type TopologyEvents } from "./topology.ts";
import { type Address, type RedisUrl, parseRedisUrl } from "./url.ts";
/** What the connections must know besides their options. */
export interface ConnectionFacts {
  /** The agent's name: data of one agent is refused to another. */
  readonly agent: string;
  /** The hash tag that begins every key and channel of a shard: `{throughline:0}`. */
  readonly shardTag: (shard: number) => string;
  /** Told what an operator should know: a lost server, a setting that endangers data. */
  readonly warn: (message: string) => void;
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
    const locator = this.#url.kind === "sentinel" ? new SentinelFinder(this.#url, this.#dial) : fixed(this.#url.hosts[0]);
    const dialed = await dial(await locator.find(this.signal), this.#dial, { signal: this.signal });
    try {
      checkServer(dialed, this.#url);
      await this.#checkMaster(dialed, 0);
      const confirmation = await planConfirmation(dialed, this.#options, this.#facts.warn);
      await checkConfig((name, args) => dialed.wire.send(name, args), this.#options, this.#facts.agent);
      const topology = new OneNode(locator, this.#options.shards, this.#nodeOptions(confirmation), this.#events, dialed);
      return await this.#standing(topology, confirmation);
    } catch (error) {
      dialed.wire.destroy();
      throw error;
    }
  }

  async #checkMaster(dialed: Dialed, shard: number): Promise<void> {
    await checkMaster(dialed, this.#dial, this.#url.kind, this.#facts.shardTag(shard), this.#facts.warn);
  }

  #nodeOptions(confirmation: Confirmation | undefined): NodeOptions {
    return {
      dial: this.#dial,
      confirmation,
      sharded: this.#url.kind === "cluster",
      warn: this.#facts.warn,
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
