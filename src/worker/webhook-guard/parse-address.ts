/** Reads addresses as they are, in whatever form they are written. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address; an IPv4-mapped one is the IPv4 address that it carries. Undefined for what is no address, and for one with a zone. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (isIP(text) !== 6) return isIP(text) === 4 ? ipaddr.IPv4.parse(text) : undefined;
  // In hexadecimal: `::10.0.0.1` is no mapped address, though ipaddr.js reads it as one.
  const hostname = URL.parse(`http://[${text}]/`)?.hostname;
  return hostname === undefined ? undefined : ipaddr.process(hostname.slice(1, -1));
}
