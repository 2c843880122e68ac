/** The rows about the client, and about the front, which is one. */
import type { PairRow } from "../rows/pair-row.ts";
import { eventCost } from "./event-cost.ts";
import { frontBeforeJs, frontBeforeOurs, frontBeforePython } from "./front.ts";
import type { ClientContext } from "./load.ts";

export const CLIENT_ROWS: readonly PairRow<ClientContext>[] = [eventCost, frontBeforeOurs, frontBeforeJs, frontBeforePython];
