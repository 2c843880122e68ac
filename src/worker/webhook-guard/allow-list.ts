/** Targets that an operator allows: by name, by suffix, by network. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import type ipaddr from "ipaddr.js";
import { parseAddress } from "./parse-address.ts";

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** Names as URLs have them: lower case, ASCII. */
const NAME = /^(?!\.)[a-z0-9._-]+(?<!\.)$/;

/** A parsed list. */
export class AllowList {
  readonly #names = new Set<string>();
  readonly #suffixes: string[] = [];
  readonly #networks: Network[] = [];

  /** Throws TypeError on an entry that is no host, no `*.suffix` and no network. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(entry);
  }

  #add(entry: string): void {
    const network = networkOf(entry);
    if (network !== undefined) {
      this.#networks.push(network);
      return;
    }
    const isSuffix = entry.startsWith("*.");
    const name = domainToASCII(isSuffix ? entry.slice(2) : entry);
    // A number, as 10.1 is one, would be a name that no URL has.
    if (!NAME.test(name) || isIP(name) !== 0) throw new TypeError(`${entry} is no host, no *.suffix and no network in CIDR form`);
    if (isSuffix) this.#suffixes.push(`.${name}`);
    else this.#names.add(name);
  }

  /** Whether addresses may decide: there is a network on the list. */
  get hasNetworks(): boolean {
    return this.#networks.length > 0;
  }

  /** Whether a host, a name or an address as URLs have them, is on the list by itself. */
  hasHost(host: string): boolean {
    return this.#names.has(host) || this.#suffixes.some((suffix) => host.endsWith(suffix)) || this.hasAddress(host);
  }

  /** Whether an address is in one of the networks. */
  hasAddress(address: string): boolean {
    const parsed = parseAddress(address);
    return (
      parsed !== undefined && this.#networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
    );
  }
}

/** An address, or a network in CIDR form; in full, as a short one would be another network than was meant. */
function networkOf(entry: string): Network | undefined {
  const [address = "", bits, ...more] = entry.split("/");
  const parsed = parseAddress(address);
  if (parsed === undefined || more.length > 0) return undefined;
  const most = parsed.kind() === "ipv4" ? 32 : 128;
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return undefined;
  return [parsed, Number(bits ?? most)];
}
