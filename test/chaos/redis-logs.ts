/** Reads logs straight from Redis, past the service and its store. */
import { streamEntries } from "../../src/storage/redis/replies.ts";
import type { Entry } from "../../src/core/log-entry.ts";
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
    entries.push(...page.map(([id, fields]) => logEntry(id, fields)));
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

/** The task whose log this key holds; undefined for other keys. */
export function taskOfLog(key: string): string | undefined {
  const taskId = key.slice(key.lastIndexOf(":") + 1);
  return keysOf(taskId)?.log(taskId) === key ? taskId : undefined;
}

/** An entry of a log as it is stored: its stream id, and names and values by turns. */
export function logEntry(id: Buffer, fields: readonly Buffer[]): Entry {
  const [entry] = streamEntries([[id, fields]]);
  if (entry === undefined) throw new TypeError("no entry");
  return entry;
}
