/** What the service is made of. */
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { OwnerOf } from "../rpc/auth/authenticate.ts";
import type { SendInit } from "./send.ts";
import type { Streams } from "./streams.ts";

/** The parts that all operations share. */
export interface ServiceInit extends SendInit {
  /** Whose a principal's tasks are. */
  readonly ownerOf: OwnerOf;
  /** Signs a card for one caller. Default: it is not signed. */
  readonly signCard?: (card: AgentCard) => Promise<void>;
  /** Streams of callers. */
  readonly streams: Streams;
  /** Calls that wait for a task: a drain gives them longer. */
  readonly waits: Streams;
}
