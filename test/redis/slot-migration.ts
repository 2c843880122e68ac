/** Moves a slot of a live Redis Cluster from one master to another. */
import { setTimeout as delay } from "node:timers/promises";
import { epochsAgree, ownerPort } from "./cluster-view.ts";
import type { RedisServer } from "./redis-server.ts";
import { until } from "./until.ts";

const MIGRATE_TIMEOUT_MS = 5000;
const AGREE_MS = 60_000;

export interface MoveSlotOptions {
  /** A pause before the first key moves and after every batch, in which the slot is on two nodes. Default: 0. */
  readonly pauseMs?: number;
  /** Keys per batch. Default: 10. */
  readonly batch?: number;
}

export interface SlotMove extends MoveSlotOptions {
  readonly slot: number;
  readonly from: RedisServer;
  readonly to: RedisServer;
  /** All masters of the cluster; each is told of the new owner. */
  readonly masters: readonly RedisServer[];
  readonly password: string | undefined;
}

/** IMPORTING and MIGRATING, then the keys, then the new owner. */
export async function moveSlot(move: SlotMove): Promise<void> {
  const { slot, from, to, masters, pauseMs = 0 } = move;
  const [fromId, toId] = await Promise.all([from, to].map(async (node) => String(await node.call("CLUSTER", "MYID"))));
  await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId ?? "");
  await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", toId ?? "");
  if (pauseMs > 0) await delay(pauseMs);
  while (await moveBatch(move)) if (pauseMs > 0) await delay(pauseMs);
  // The new owner first: were the old one told first, it would send clients to a node that does not know of its luck.
  const told = [to, from, ...masters.filter((node) => node !== from && node !== to)];
  for (const node of told) await node.call("CLUSTER", "SETSLOT", slot, "NODE", toId ?? "");
  // A message of the old owner that was on its way may undo what a node was told.
  await until(`the masters know of the new owner of slot ${slot}`, AGREE_MS, async () => {
    const owners = await Promise.all(told.map(async (node) => ownerPort(node, slot)));
    const wrong = told.filter((_, index) => owners[index] !== to.port);
    for (const node of wrong) await node.call("CLUSTER", "SETSLOT", slot, "NODE", toId ?? "");
    return wrong.length === 0 && (await epochsAgree(masters));
  });
}

async function moveBatch({ slot, from, to, password, batch = 10 }: SlotMove): Promise<boolean> {
  const keys = (await from.binary("CLUSTER", "GETKEYSINSLOT", slot, batch)) as Buffer[];
  if (keys.length === 0) return false;
  const auth = password === undefined ? [] : ["AUTH", password];
  await from.call("MIGRATE", "127.0.0.1", to.port, "", 0, MIGRATE_TIMEOUT_MS, ...auth, "KEYS", ...keys);
  return true;
}
