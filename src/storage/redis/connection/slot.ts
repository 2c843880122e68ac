import { DialError } from "./dial.ts";
import type { Reply } from "./reply.ts";
import { RedisReplyError } from "./store-error.ts";
import { type Address, formatAddress } from "./url.ts";
import type { Wire } from "./wire.ts";

/** A range of hash slots and the master that serves it. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly address: Address;
}

const SLOTS = 16_384;

/** The hash slot of all keys that begin with this tag: CRC16 (XMODEM) of what the braces enclose. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag.replace(/^\{(.*)\}$/s, "$1"))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}

/** Asks a node of a Cluster which master serves which slots. Throws DialError. */
export async function readSlots(wire: Wire, asked: Address): Promise<readonly SlotRange[]> {
  let reply: Reply;
  try {
    reply = await wire.send("CLUSTER", ["SLOTS"]);
  } catch (error) {
    if (!(error instanceof RedisReplyError))
      throw new DialError("wait", `${formatAddress(asked)} does not answer CLUSTER SLOTS`, { cause: error });
    throw new DialError(
      "setup",
      `${formatAddress(asked)} refuses CLUSTER SLOTS, which this user needs (grant +cluster|slots): ${error.message}`,
      {
        cause: error,
      },
    );
  }
  return (reply as readonly (readonly Reply[])[]).flatMap(([from, to, master]) => {
    const [host, port] = master as readonly Reply[];
    // Without a host the node does not know its own name: then it is the one we called it by. "?" is a node it cannot name.
    const name = host === null || host === undefined ? "" : String(host);
    if (name === "?") return [];
    return [{ from: Number(from), to: Number(to), address: { host: name === "" ? asked.host : name, port: Number(port) } }];
  });
}

/** The master that serves a slot; undefined where none does. */
export function ownerOf(ranges: readonly SlotRange[], slot: number): Address | undefined {
  return ranges.find(({ from, to }) => from <= slot && slot <= to)?.address;
}
