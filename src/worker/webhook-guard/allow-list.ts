/** Targets that an operator allows: by name, by suffix, by network. */
import ipaddr from "ipaddr.js";

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** Throws TypeError on an entry that is none of them. */
export class AllowList {
  readonly #hosts = new Set<string>();
  readonly #suffixes: string[] = [];
  readonly #networks: Network[] = [];

  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(entry.toLowerCase());
  }

  #add(entry: string): void {
    if (entry.includes("/")) this.#networks.push(ipaddr.parseCIDR(entry));
    else if (ipaddr.isValid(entry)) this.#networks.push([ipaddr.parse(entry), entry.includes(":") ? 128 : 32]);
    else if (entry.startsWith("*.")) this.#suffixes.push(entry.slice(1));
    else if (/^[a-z0-9._-]+$/.test(entry)) this.#hosts.add(entry);
    else throw new TypeError(`${entry} is no host, no *.suffix and no network`);
  }

  /** Whether a host, a name or an address, is on the list. */
  hasHost(host: string): boolean {
    return this.#hosts.has(host) || this.#suffixes.some((suffix) => host.endsWith(suffix)) || this.hasAddress(host);
  }

  /** Whether an address is in one of the networks. */
  hasAddress(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return this.#networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits));
  }
}
