/** How often and how much at once a caller may call: the same on every binding, judged by who it is before its request is read. */
import type { HandlerContext } from "@connectrpc/connect";
import { ANONYMOUS_PRINCIPAL } from "./auth/anonymous.ts";
import { peerAddressKey, principalOf } from "./call-facts.ts";
import { connectError } from "./errors.ts";

/** So many calls a second on average, and `burst` at once. */
interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Takes one call from the count of this key; answers how many milliseconds to wait where there is none. */
export type TakeCall = (key: string, rate: Rate) => Promise<number | undefined>;

/** What bounds callers. Defaults stand in server/limit-options. */
export interface CallLimitOptions {
  /** By the name of the operation; that of `*` is each operation's that has none of its own. An operation without a rate has no bound. */
  readonly rates: Readonly<Record<string, Rate>>;
  /** Streams open at once on this replica: of one caller, and of all. */
  readonly streamsPerPrincipal: number;
  readonly streams: number;
  /** Other calls under way at once on this replica, those that wait for a task among them. */
  readonly callsPerPrincipal: number;
  readonly calls: number;
}

/** When a caller that has too much open may try again: nobody knows when it lets go of some. */
const BUSY_RETRY_MS = 1000;

/** Counts calls. */
export class CallLimits {
  readonly #options: CallLimitOptions;
  readonly #take: TakeCall;
  readonly #streams: Places;
  readonly #calls: Places;

  constructor(options: CallLimitOptions, take: TakeCall) {
    this.#options = options;
    this.#take = take;
    this.#streams = new Places("streams", options.streamsPerPrincipal, options.streams);
    this.#calls = new Places("calls", options.callsPerPrincipal, options.calls);
  }

  /** Counts a call against the rate of its operation. Throws RESOURCE_EXHAUSTED. */
  async count(context: HandlerContext): Promise<void> {
    const { rates } = this.#options;
    const { name: operation } = context.method;
    const rate = Object.hasOwn(rates, operation) ? rates[operation] : rates["*"];
    if (rate === undefined) return;
    const retryAfterMs = await this.#take(`${operation}:${countedAs(context)}`, rate);
    if (retryAfterMs === undefined) return;
    const metadata = { limit: "rate", operation };
    throw connectError("RESOURCE_EXHAUSTED", `too many calls of ${operation}: ${rate.perSecond} a second are taken`, {
      metadata,
      retryAfterMs: Math.ceil(retryAfterMs),
    });
  }

  /** Counts a call as under way until its signal aborts, which it does at its end too. Throws RESOURCE_EXHAUSTED. */
  enter(context: HandlerContext): void {
    const places = context.method.methodKind === "server_streaming" ? this.#streams : this.#calls;
    const leave = places.take(countedAs(context));
    if (context.signal.aborted) leave();
    else context.signal.addEventListener("abort", leave, { once: true });
  }
}

/** What is open at once, by callers. */
class Places {
  readonly #what: string;
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(what: string, each: number, all: number) {
    this.#what = what;
    this.#each = each;
    this.#all = all;
  }

  /** Takes a place; answers how to give it back. */
  take(who: string): () => void {
    const held = this.#held.get(who) ?? 0;
    if (held >= this.#each) throw this.#full(`this caller has ${held} ${this.#what} open here already`);
    if (this.#total >= this.#all) throw this.#full(`all callers together have ${this.#total} ${this.#what} open here already`);
    this.#held.set(who, held + 1);
    this.#total += 1;
    return () => {
      this.#total -= 1;
      const left = (this.#held.get(who) ?? 0) - 1;
      if (left > 0) this.#held.set(who, left);
      else this.#held.delete(who);
    };
  }

  #full(message: string): unknown {
    return connectError("RESOURCE_EXHAUSTED", message, { metadata: { limit: this.#what }, retryAfterMs: BUSY_RETRY_MS });
  }
}

/**
 * Whom a call counts for: its principal, by name. Where callers are not told apart, or nobody vouches for them, it is the address that their
 * connection comes from, of IPv6 the network of 64 bits: who has one of its addresses has them all. Behind a proxy that is the proxy's.
 */
function countedAs(context: HandlerContext): string {
  const principal = principalOf(context);
  if (principal !== ANONYMOUS_PRINCIPAL && principal.unproven !== true) return `p:${principal.name}`;
  return `a:${network(context.values.get(peerAddressKey)())}`;
}

function network(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const rest = tail === undefined ? [] : tail.split(":").filter((group) => group !== "");
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array.from({ length: zeros }, () => "0"), ...rest].slice(0, 4).join(":");
}
