/** The load process of the rows about the Redis store. */
import { redisServer } from "../../test/redis/redis-server.ts";
import { link } from "../ipc.ts";
import type { Pair, PairOrder } from "../rows/pair-row.ts";
import { STORE_ROWS } from "./index.ts";

link(process, { run });
process.once("disconnect", () => process.exit(0));

async function run({ row, quick, profileDir }: PairOrder): Promise<Readonly<Record<string, Pair>>> {
  const found = STORE_ROWS.find(({ name }) => name === row);
  if (found === undefined) throw new Error(`no row ${row}`);
  await using redis = await redisServer();
  globalThis.gc?.();
  return await found.run({ redis, quick, profileDir });
}
