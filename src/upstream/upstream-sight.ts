/** Whether the upstream is heard of, as the log tells it. */
import type { Cut } from "../client/index.ts";
import type { Log } from "../core/telemetry.ts";
import { isAway } from "./failures.ts";

/** Of many replicas behind one address some may answer and others not: the log tells of that no more often than this. */
const QUIET_MS = 10_000;

/** Tells the log when the upstream goes away and when it is back: once for all the tasks that wait for it. */
export class UpstreamSight {
  readonly #log: Log;
  /** When it was found to be away, in milliseconds since 1970; undefined while it is heard. */
  #awaySince: number | undefined;
  #toldAt = -Infinity;

  constructor(log: Log) {
    this.#log = log;
  }

  /** A run of the client has lost its connection. One cut says nothing: a proxy may have ended the stream, a replica may drain. */
  cut({ taskId, losses, cause, pauseMs }: Cut): void {
    if (losses > 1 && isAway(cause)) this.away(cause);
    this.#log.debug?.(
      { upstreamTaskId: taskId, losses, error: cause, pauseMs },
      "a stream of the upstream agent was cut; it is asked again",
    );
  }

  /** It could not be asked. */
  away(error: unknown): void {
    const now = Date.now();
    if (this.#awaySince !== undefined || now - this.#toldAt < QUIET_MS) return;
    [this.#awaySince, this.#toldAt] = [now, now];
    this.#log.warn({ error }, "the upstream agent is away; the tasks that it works on wait for it");
  }

  /** Something came from it. Called for each event. */
  heard(): void {
    if (this.#awaySince === undefined) return;
    const now = Date.now();
    const awayMs = now - this.#awaySince;
    [this.#awaySince, this.#toldAt] = [undefined, now];
    this.#log.info({ awayMs }, "the upstream agent is heard again");
  }
}
