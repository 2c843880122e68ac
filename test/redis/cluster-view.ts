/** What the nodes of a Redis Cluster say about it. */
import type { RedisServer } from "./redis-server.ts";

export const SLOTS = 16_384;

/** One line of CLUSTER NODES. */
export interface NodeLine {
  readonly id: string;
  readonly port: number;
  readonly flags: readonly string[];
  /** Of a replica, its master's id; else "-". */
  readonly masterId: string;
  /** Of two masters that claim a slot, the one with the higher epoch has it. */
  readonly epoch: number;
  /** The ranges of its slots, both ends included. */
  readonly slots: readonly (readonly [first: number, last: number])[];
}

/** CLUSTER NODES as this node sees it. */
export async function nodeLines(node: RedisServer): Promise<NodeLine[]> {
  const text = String(await node.call("CLUSTER", "NODES"));
  return text.trimEnd().split("\n").map(parseLine);
}

function parseLine(line: string): NodeLine {
  const [id = "", address = "", flags = "", masterId = "", , , epoch, , ...ranges] = line.split(" ");
  const port = Number(/:(\d+)@/.exec(address)?.[1]);
  // What stands in brackets is a migration under way.
  const slots = ranges
    .filter((range) => !range.startsWith("["))
    .map((range) => {
      const [first = Number.NaN, last = first] = range.split("-").map(Number);
      return [first, last] as const;
    });
  return { id, port, flags: flags.split(","), masterId, epoch: Number(epoch), slots };
}

/** The port of the master that this node takes for the owner of the slot. */
export async function ownerPort(node: RedisServer, slot: number): Promise<number | undefined> {
  const lines = await nodeLines(node);
  return lines.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))?.port;
}

/** Whether the node says that the cluster can be used, and, of a replica, that it follows its master. */
export async function isOnline(node: RedisServer): Promise<boolean> {
  const state = String(await node.call("CLUSTER", "INFO"));
  const replication = String(await node.call("INFO", "replication"));
  return state.includes("cluster_state:ok") && (replication.includes("role:master") || replication.includes("master_link_status:up"));
}

/** Whether these masters think the same of each other's epochs: until then a new epoch may be no higher than one that exists. */
export async function epochsAgree(masters: readonly RedisServer[]): Promise<boolean> {
  const views = await Promise.all(masters.map(nodeLines));
  const ports = new Set(masters.map(({ port }) => port));
  const said = views.map((lines) =>
    lines
      .filter(({ port }) => ports.has(port))
      .map(({ id, epoch }) => `${id} ${epoch}`)
      .toSorted()
      .join(),
  );
  const epochs = new Set((views[0] ?? []).filter(({ port }) => ports.has(port)).map(({ epoch }) => epoch));
  return new Set(said).size === 1 && epochs.size === masters.length;
}
