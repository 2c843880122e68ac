/** Whether an address is one of the public Internet. */
import ipaddr from "ipaddr.js";

/** Unicast, and nothing in it that leads elsewhere: mapped, translated and tunnelled addresses are judged by what they carry. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === "unicast";
}
