import { type Confirmation, Confirmer } from "./confirm.ts";
import { type DialOptions, type Dialed, dial } from "./dial.ts";
import { Link } from "./link.ts";
import type { Arg, Reply, Script } from "./reply.ts";
import { isReply } from "./store-error.ts";
import { Subscriber, type SubscriberEvents } from "./subscriber.ts";
import { type Address, formatAddress } from "./url.ts";

/** Replies of a server that is there and stores nothing: its memory is full, its disk, or too few of its replicas are there. */
const STORES_NOTHING = ["OOM", "MISCONF", "NOREPLICAS"] as const;
/** Between two words to the operator about that. */
const WARN_MS = 60_000;

/** Where a master is to be found. */
export interface Locator {
  /** Asked before every connection attempt. Throws DialError. */
  find(signal: AbortSignal): Promise<Address>;
  /** What was found was of no use. */
  distrust(): void;
  /** Where the master is now, if it is another than when this was asked last. Missing where nobody tells. Throws DialError. */
  switched?(signal: AbortSignal): Promise<Address | undefined>;
}

/** What all nodes of a store share. */
export interface NodeOptions {
  readonly dial: DialOptions;
  /** How a write is confirmed; undefined where its reply is enough. */
  readonly confirmation: Confirmation | undefined;
  /** Whether channels belong to slots (Cluster). */
  readonly sharded: boolean;
  readonly warn: (message: string) => void;
  /** A connection stands again after it was lost. */
  readonly onAgain: () => void;
  /** Refuses a server that cannot keep what the durability promises; called for each server that is met. */
  readonly verify: (dialed: Dialed) => Promise<void>;
}

/** What a node reports. */
export interface NodeEvents extends Omit<SubscriberEvents, "onFailure" | "onAgain"> {
  /** All its connections stand. */
  readonly onUp: () => void;
  /** A connection was lost or could not be made. */
  readonly onTrouble: () => void;
}

/** One master: a connection for commands, one for subscriptions once there are any, and in a durable mode one for writes. */
export class Node {
  readonly commands: Link;
  /** The connection for commands where the reply is enough. */
  readonly writer: Link;
  readonly subscriber: Subscriber;
  readonly #confirmer: Confirmer | undefined;
  readonly #options: NodeOptions;
  readonly #events: NodeEvents;
  /** What was warned of since the connections last stood. */
  readonly #warned = new Set<string>();
  /** When a refusal to store was last warned of. */
  #warnedOfRefusal = -Infinity;
  #verified: string | undefined;
  #address: Address | undefined;

  readonly #standing = Promise.withResolvers<void>();

  constructor(locator: Locator, options: NodeOptions, events: NodeEvents) {
    this.#options = options;
    this.#events = events;
    const { onAgain } = options;
    const { commandTimeoutMs } = options.dial;
    const reach =
      (replyTimeoutMs: number) =>
      async (signal: AbortSignal): Promise<Dialed> =>
        await this.#reach(locator, signal, replyTimeoutMs);
    const onFailure = (error: unknown): void => this.#fail(error);
    const link = { onUp: (dialed: Dialed) => this.#up(dialed), onAgain, onDown: events.onTrouble, onFailure };
    this.commands = new Link(reach(commandTimeoutMs), link);
    this.writer = this.commands;
    if (options.confirmation !== undefined) {
      // What is sent behind a WAIT is answered after it.
      this.writer = new Link(reach(commandTimeoutMs + options.confirmation.timeoutMs), link);
      this.#confirmer = new Confirmer(this.writer, options.confirmation);
    }
    this.subscriber = new Subscriber(reach(commandTimeoutMs), options.sharded, commandTimeoutMs, { ...events, onAgain, onFailure });
  }

  /** performance.now() since which all connections for commands have stood; undefined where one does not. */
  get upSince(): number | undefined {
    const commands = this.commands.upSince;
    const writer = this.writer.upSince;
    return commands === undefined || writer === undefined ? undefined : Math.max(commands, writer);
  }

  /** Begins to keep the connections, with one that was made already if there is one. */
  start(dialed?: Dialed): void {
    if (dialed !== undefined) this.#verified = dialed.info.get("run_id");
    this.commands.start(dialed);
    if (this.writer !== this.commands) this.writer.start();
  }

  /** Resolves when all connections stand for the first time. */
  get standing(): Promise<void> {
    return this.#standing.promise;
  }

  /** Sends a script on the writer connection. */
  async write(script: Script, keys: readonly string[], args: readonly Arg[]): Promise<Reply> {
    const { wire } = this.writer;
    const reply = await this.writer.script(script, keys, args).catch((error: unknown) => this.#refuse(error));
    this.#confirmer?.wrote(wire);
    return reply;
  }

  /** Resolves when what was written and answered is as safe as was asked for. */
  confirmed(epoch?: number): Promise<void> {
    return this.#confirmer === undefined ? Promise.resolve() : this.#confirmer.confirmed(epoch);
  }

  /** The master is elsewhere: connections that lead to another server are left, although it may still take itself for the master. */
  moveTo(address: Address): void {
    if (this.#address === undefined || formatAddress(this.#address) === formatAddress(address)) return;
    this.subscriber.drop();
    for (const link of new Set([this.commands, this.writer])) link.drop();
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await Promise.all([this.commands.close(), this.writer.close(), this.subscriber.close()]);
  }

  async #reach(locator: Locator, signal: AbortSignal, replyTimeoutMs: number): Promise<Dialed> {
    const address = await locator.find(signal);
    try {
      return await this.#verify(await dial(address, this.#options.dial, { signal, replyTimeoutMs }));
    } catch (error) {
      locator.distrust();
      throw error;
    }
  }

  async #verify(dialed: Dialed): Promise<Dialed> {
    const runId = dialed.info.get("run_id");
    if (runId !== this.#verified) {
      try {
        await this.#options.verify(dialed);
      } catch (error) {
        dialed.wire.destroy();
        throw error;
      }
      this.#verified = runId;
    }
    return dialed;
  }

  #up({ address, info }: Dialed): void {
    this.#address = address;
    if (this.#warned.size > 0) this.#options.warn(`redis: connected to ${formatAddress(address)}`);
    this.#warned.clear();
    const runId = info.get("run_id");
    // After a failover the other connections may still lead to the old master.
    if (this.subscriber.runId !== undefined && this.subscriber.runId !== runId) this.subscriber.drop();
    for (const link of [this.commands, this.writer]) {
      if (link.wire !== undefined && link.info?.get("run_id") !== runId) link.drop();
    }
    if (this.upSince === undefined) return;
    this.#standing.resolve();
    this.#events.onUp();
  }

  /** Callers are told no reason, and the connections stand: without a word the operator would look for it in vain. */
  #refuse(error: unknown): never {
    if (isReply(error, ...STORES_NOTHING) && performance.now() - this.#warnedOfRefusal > WARN_MS) {
      this.#warnedOfRefusal = performance.now();
      const where = this.#address === undefined ? "" : `${formatAddress(this.#address)} `;
      this.#options.warn(`redis: ${where}stores nothing: ${((error as Error).cause as Error).message}`);
    }
    throw error;
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (!this.#warned.has(message)) this.#options.warn(`redis: ${message}`);
    this.#warned.add(message);
    this.#events.onTrouble();
  }
}
