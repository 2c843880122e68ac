/** Where webhooks may be: judged when one is registered, and again at every connection (R-117, R-118, C-26). */
import { isIP, type Socket } from "node:net";
import { lookup } from "node:dns";
import type { TLSSocket } from "node:tls";
import { buildConnector } from "undici";
import { WebhookRefused } from "../webhook-poster.ts";
import { AllowList } from "./allow-list.ts";
import { isPublic } from "./public-address.ts";

/** A port, or a range of ports with both its ends. */
export type PortRange = number | readonly [number, number];

/** What is let through. */
export interface WebhookPolicy {
  /** Whether http is taken, not only https. A target on the allow-list may use it in any case. */
  readonly allowHttp: boolean;
  /** Hosts, `*.suffixes` and networks in CIDR form that may be reached whatever they are. */
  readonly allow: readonly string[];
  readonly ports: readonly PortRange[];
  /** Authorities to trust, in PEM. Default: the platform's. */
  readonly ca?: string | undefined;
  /** How long a connection may take, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** Judges targets. */
export class WebhookGuard {
  readonly #policy: WebhookPolicy;
  readonly #allowed: AllowList;
  /** Makes connections for undici: to addresses that were judged, and to no other. */
  readonly connect: buildConnector.connector;

  constructor(policy: WebhookPolicy) {
    this.#policy = policy;
    this.#allowed = new AllowList(policy.allow);
    this.connect = this.#connector();
  }

  /** What is wrong with a URL that somebody wants to register; the text goes on after the field's name. Looks nothing up. */
  problemOf(url: string): string | undefined {
    const parsed = URL.parse(url);
    if (parsed === null) return "is no absolute http or https URL";
    const host = hostOf(parsed.hostname);
    const listed = this.#allowed.hasHost(host);
    if (parsed.protocol === "http:" && !this.#policy.allowHttp && !listed) return "is not encrypted: right is an https URL";
    if (listed) return undefined;
    if (!this.#takesPort(portOf(parsed.protocol, parsed.port))) return "names a port that webhooks may not use";
    if (isIP(host) !== 0 && !isPublic(host)) return "names an address that webhooks may not have";
    if (host === "localhost" || host.endsWith(".localhost")) return "names this machine";
    return undefined;
  }

  #takesPort(port: number): boolean {
    return this.#policy.ports.some((range) => (typeof range === "number" ? port === range : port >= range[0] && port <= range[1]));
  }

  #connector(): buildConnector.connector {
    const { ca, connectTimeoutMs } = this.#policy;
    const connect = buildConnector({ timeout: connectTimeoutMs, ...(ca && { ca }), lookup: this.#lookup });
    return (options, callback) => {
      const host = hostOf(options.hostname);
      const problem = this.problemOf(`${options.protocol}//${options.hostname}:${portOf(options.protocol, options.port)}/`);
      // An address is never looked up: it is judged here.
      if (problem !== undefined) return callback(new WebhookRefused(`its url ${problem}`), null);
      return connect(options, (error, socket) => {
        if (error !== null) return callback(error, null);
        if (this.#mayReach(host, socket)) return callback(null, socket);
        socket.destroy();
        return callback(new WebhookRefused("its name leads to an address that webhooks may not have"), null);
      });
    };
  }

  #mayReach(host: string, socket: Socket | TLSSocket): boolean {
    const { remoteAddress } = socket;
    return remoteAddress !== undefined && this.#mayUse(host, remoteAddress);
  }

  #mayUse(host: string, address: string): boolean {
    return this.#allowed.hasHost(host) || this.#allowed.hasAddress(address) || isPublic(address);
  }

  /** Every address that a name leads to must be one that may be used: a name that mixes them is up to something. */
  readonly #lookup: typeof lookup = ((host: string, options: object, callback: (error: Error | null, ...found: unknown[]) => void) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error);
      if (addresses.some(({ address }) => !this.#mayUse(hostOf(host), address)))
        return callback(new WebhookRefused("its name leads to an address that webhooks may not have"));
      const [first] = addresses;
      return "all" in options && options.all === true ? callback(null, addresses) : callback(null, first?.address, first?.family);
    });
  }) as typeof lookup;
}

function hostOf(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

function portOf(protocol: string, port: string): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
