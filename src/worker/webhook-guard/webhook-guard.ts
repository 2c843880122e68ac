/** Where webhooks may be: judged when one is registered, and again at every connection (R-117, R-118, C-26). */
import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import { Addresses, type Platform } from "./addresses.ts";
import { AllowList } from "./allow-list.ts";
import { isPublic } from "./public-address.ts";
import { WebhookRefused } from "./webhook-refused.ts";

/** A port, or a range of ports with both its ends. */
type PortRange = number | readonly [number, number];

/** What is let through. */
export interface WebhookPolicy {
  /** Whether http is taken, not only https. A host on the allow-list may use it in any case. */
  readonly allowHttp: boolean;
  /** Hosts, `*.suffixes` and networks in CIDR form that may be reached whatever they are. */
  readonly allow: readonly string[];
  /** Ports of hosts that are not on the allow-list. */
  readonly ports: readonly PortRange[];
  /** Name servers that are asked where webhooks are. Empty: the platform's. */
  readonly dnsServers: readonly string[];
  /** Authorities to trust, in PEM. Default: the platform's. */
  readonly ca?: string | undefined;
  /** How long a connection may take, in milliseconds, looking up included. */
  readonly connectTimeoutMs: number;
}

/** Names that are never public (RFC 6761, 6762, 8375; `internal` as ICANN reserved it). */
const LOCAL_NAME = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/** Where a request goes. */
interface Target {
  readonly protocol: string;
  /** A name or an address, without brackets and without the dot at the end. */
  readonly host: string;
  readonly port: number;
}

/** Judges targets. */
export class WebhookGuard {
  readonly #policy: WebhookPolicy;
  readonly #allowed: AllowList;
  readonly #addresses: Addresses;
  /** Makes connections for undici: to addresses that were judged, and to no other. */
  readonly connect: buildConnector.connector;

  /** Throws TypeError where an entry of `allow` or `dnsServers` is wrong. */
  constructor(policy: WebhookPolicy) {
    this.#policy = policy;
    this.#allowed = new AllowList(policy.allow);
    this.#addresses = new Addresses(policy.dnsServers);
    this.connect = this.#connector();
  }

  /** What is wrong with a URL that somebody wants to register; the text goes on after the field's name. Looks nothing up. */
  problemOf(url: string): string | undefined {
    const parsed = URL.parse(url);
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) return "is no absolute http or https URL";
    return this.#problem(targetOf(parsed));
  }

  #problem({ protocol, host, port }: Target): string | undefined {
    const listed = this.#allowed.hasHost(host);
    if (protocol !== "https:" && !this.#policy.allowHttp && !listed) return "is not encrypted: right is an https URL";
    if (listed) return undefined;
    if (!this.#takesPort(port)) return "names a port that webhooks may not use";
    if (isIP(host) !== 0) return isPublic(host) ? undefined : "names an address that webhooks may not have";
    // With a network on the list the address decides, when it is known.
    if (this.#allowed.hasNetworks || (host.includes(".") && !LOCAL_NAME.test(host))) return undefined;
    return "names a host that is not on the public Internet";
  }

  #takesPort(port: number): boolean {
    return this.#policy.ports.some((range) => (typeof range === "number" ? port === range : port >= range[0] && port <= range[1]));
  }

  #connector(): buildConnector.connector {
    const { ca, connectTimeoutMs } = this.#policy;
    // HTTP/2 has more ways to keep a client busy than a webhook needs.
    const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false, ...(ca && { ca }), lookup: this.#lookup });
    return (options, callback) => {
      const target = targetOf(options);
      // An address is never looked up: it is judged here.
      const problem = this.#problem(target);
      if (problem !== undefined) return callback(new WebhookRefused(`its url ${problem}`), null);
      return connect(options, (error, socket) => {
        if (error !== null) return callback(error, null);
        const reached = this.#reached(target.host, socket);
        if (reached === undefined) return callback(null, socket);
        socket.destroy();
        return callback(reached, null);
      });
    };
  }

  /** What is wrong with where a socket has come out; undefined where nothing is. */
  #reached(host: string, { remoteAddress }: Socket): Error | undefined {
    // Gone again already: that says nothing about where it was.
    if (remoteAddress === undefined) return Object.assign(new Error("the connection was closed at once"), { code: "ECONNRESET" });
    return this.#mayUse(host, remoteAddress) ? undefined : refusedAddress();
  }

  #mayUse(host: string, address: string): boolean {
    return this.#allowed.hasHost(host) || this.#allowed.hasAddress(address) || isPublic(address);
  }

  /** Whose way of looking up a name is taken. Names that an operator has listed may be known to the platform alone. */
  #platformFor(host: string): Platform {
    if (this.#allowed.hasHost(host)) return "first";
    return this.#allowed.hasNetworks ? "last" : "never";
  }

  readonly #lookup: LookupFunction = (hostname, { all }, answer) => void this.#answer(plain(hostname), all === true, answer);

  async #answer(host: string, all: boolean, answer: Parameters<LookupFunction>[2]): Promise<void> {
    const found = await this.#judged(host).catch((error: NodeJS.ErrnoException) => error);
    if (found instanceof Error) answer(found, "");
    else if (all) answer(null, found);
    else answer(null, found[0].address, found[0].family);
  }

  /** Every address that a name leads to must be one that may be used: a name that mixes them is up to something. */
  async #judged(host: string): Promise<[LookupAddress, ...LookupAddress[]]> {
    const [first, ...more] = await this.#addresses.of(host, this.#platformFor(host));
    if (first === undefined || [first, ...more].some(({ address }) => !this.#mayUse(host, address))) throw refusedAddress();
    return [first, ...more];
  }
}

function refusedAddress(): WebhookRefused {
  return new WebhookRefused("its name leads to an address that webhooks may not have");
}

function targetOf({ protocol, hostname, port }: { readonly protocol: string; readonly hostname: string; readonly port: string }): Target {
  return { protocol, host: plain(hostname), port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

function plain(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}
