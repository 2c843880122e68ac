/** Whether an address is one of the public Internet. */
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { parseAddress } from "./parse-address.ts";

/** All that is given out for the public Internet: what lies outside is reserved, or an IPv4 address in another dress. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** Public by its form; leads into the hypervisor of a virtual machine (Azure's metadata and platform service). */
const PLATFORM: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * Whether an address is unicast, public, and not one of this machine's own: what listens there may be open to this machine only. Mapped addresses
 * are judged by what they carry; translated and tunnelled ones (NAT64, 6to4, Teredo) are not public.
 */
export function isPublic(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed?.range() !== "unicast") return false;
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST)) return false;
  const canonical = parsed.toString();
  return !PLATFORM.has(canonical) && !isOwn(canonical);
}

function isOwn(canonical: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some(({ address }) => parseAddress(address)?.toString() === canonical);
}
