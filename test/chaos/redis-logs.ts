/** Reads logs straight from Redis, past the service and its store. */
import { Entry } from "../../src/core/log-entry.ts";
import { ShardKeys, shardOf } from "../../src/storage/redis/keys.ts";
import { until } from "../redis/until.ts";
import type { Custody } from "./store.ts";

/** Names of the run's keys begin with this. */
export const PREFIX = "chaos";
/** As many shards as is the default. */
export const SHARDS = 16;

const PAGE = 500;
/** A failover may still be under way. */
const ANSWER_MS = 20_000;

/** Sends a command to whoever has the keys now; replies are Buffers. */
export type Ask = (command: string, ...args: (string | number)[]) => Promise<unknown>;

type Row = readonly [id: Buffer, fields: readonly Buffer[]];

/** The entries of a task, all pages of them. */
export async function readLog(ask: Ask, taskId: string): Promise<readonly Entry[]> {
  const key = keysOf(taskId)?.log(taskId);
  if (key === undefined) return [];
  const entries: Entry[] = [];
  for (;;) {
    const from = entries.length === 0 ? "-" : `(${entries.at(-1)?.offset}-0`;
    const page = await until(
      `the log ${taskId} is read`,
      ANSWER_MS,
      async () => (await ask("XRANGE", key, from, "+", "COUNT", PAGE)) as Row[],
    );
    entries.push(...page.map(entryOf));
    if (page.length < PAGE) return entries;
  }
}

/** Where the task stands in the sorted sets of its shard. */
export async function readCustody(ask: Ask, taskId: string): Promise<Custody> {
  const keys = keysOf(taskId);
  if (keys === undefined) return "nobody";
  const stands = (key: string): Promise<{ readonly score: unknown }> =>
    until(`${key} is read`, ANSWER_MS, async () => ({ score: await ask("ZSCORE", key, taskId) }));
  if ((await stands(keys.leases)).score !== null) return "owned";
  return (await stands(keys.ready)).score === null ? "nobody" : "waiting";
}

function keysOf(taskId: string): ShardKeys | undefined {
  const shard = shardOf(taskId, SHARDS);
  return shard === undefined ? undefined : new ShardKeys(PREFIX, shard);
}

function entryOf([id, fields]: Row): Entry {
  const named = new Map<string, Buffer>();
  for (let at = 0; at < fields.length; at += 2) named.set(String(fields[at]), fields[at + 1] as Buffer);
  const field = (name: string): Buffer => named.get(name) ?? Buffer.alloc(0);
  const place = { offset: Number.parseInt(String(id), 10), epoch: Number(field("e")), time: Number(field("t")) };
  return new Entry(place, { kind: String(field("k")) === "c" ? "command" : "event", mark: String(field("m")), bytes: field("b") });
}
