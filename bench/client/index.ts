/** The rows about the client. */
import type { PairRow } from "../rows/pair-row.ts";
import { eventCost } from "./event-cost.ts";
import type { ClientContext } from "./load.ts";

export const CLIENT_ROWS: readonly PairRow<ClientContext>[] = [eventCost];
