/** What a newer version writes into a task: an entry of a format that this one does not read, past every store of this version. */
import { READS } from "../../src/core/format.ts";
import { newMark, type Position } from "../../src/core/log-entry.ts";
import type { RedisServer } from "../redis/redis-server.ts";
import { keysOf } from "./store-bed.ts";

/** A kind and bytes that mean nothing here. */
const [KIND, BYTES] = ["x", "not for you"];

/** Appends such an entry as scripts do: log, record and the word to readers. Answers its place. */
export async function appendNewer(server: RedisServer, taskId: string): Promise<Position> {
  const keys = keysOf(taskId);
  const record = ["nx", "mk", "ep", "by"] as const;
  const [last, before, epoch, total] = (await server.call("HMGET", keys.task(taskId), ...record)) as [string, string, string, string];
  const [offset, mark] = [Number(last) + 1, newMark()];
  const header = `${KIND}${mark} ${epoch} ${Date.now()} ${READS + 1} ${Number(total) + BYTES.length}`;
  await server.call("XADD", keys.log(taskId), `${offset}-0`, "h", header, "b", BYTES);
  await server.call("HSET", keys.task(taskId), "nx", offset, "mk", mark, "by", Number(total) + BYTES.length, "fv", READS + 1);
  const news = `${last}.${before} ${offset}.${mark} 0 ${epoch} ${Date.now()} ${KIND}${mark}${BYTES.length}\n${BYTES}`;
  await server.call("PUBLISH", keys.events(taskId), news);
  return { offset, mark };
}
