/** The process of the rows about the client: it is the client. */
import { link } from "../ipc.ts";
import type { Pair, PairOrder } from "../rows/pair-row.ts";
import { CLIENT_ROWS } from "./index.ts";

/** What such a row is given. */
export type ClientContext = Pick<PairOrder, "quick" | "profileDir">;

link(process, { run });
process.once("disconnect", () => process.exit(0));

async function run({ row, quick, profileDir }: PairOrder): Promise<Readonly<Record<string, Pair>>> {
  const found = CLIENT_ROWS.find(({ name }) => name === row);
  if (found === undefined) throw new Error(`no row ${row}`);
  return await found.run({ quick, profileDir });
}
