/** What the service is made of. */
import type { SendInit } from "./send.ts";
import type { Streams } from "./streams.ts";

/** The parts that all operations share. */
export interface ServiceInit extends SendInit {
  /** Streams of callers. */
  readonly streams: Streams;
  /** Calls that wait for a task: a drain gives them longer. */
  readonly waits: Streams;
}
