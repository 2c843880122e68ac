/** How the event loop of this process does. */
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from "node:perf_hooks";

const RESOLUTION_MS = 20;
const NANO = 1e-9;

type Delays = ReturnType<typeof monitorEventLoopDelay>;

/** What was seen since the last look. */
export interface LoopFacts {
  /** Seconds that a timer came late, by quantile. */
  readonly delays: Readonly<Record<"0.5" | "0.99" | "1", number>>;
  /** Part of the time in which it was busy, 0 to 1. */
  readonly busy: number;
}

/** Watches from the first look on: nothing is spent where nobody looks. */
export class EventLoop {
  #late: Delays | undefined;
  #used: EventLoopUtilization = performance.eventLoopUtilization();

  /** What was seen since the last look; at the first one there are no delays yet. */
  look(): LoopFacts {
    const late = this.#watched();
    const used = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(used, this.#used).utilization;
    this.#used = used;
    const delays = { "0.5": lateness(late.percentile(50)), "0.99": lateness(late.percentile(99)), "1": lateness(late.max) };
    late.reset();
    return { delays, busy };
  }

  stop(): void {
    this.#late?.disable();
  }

  #watched(): Delays {
    if (this.#late !== undefined) return this.#late;
    this.#late = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#late.enable();
    return this.#late;
  }
}

/** Seconds beyond the timer's own period, which is in what it measures; nothing where nothing was measured yet. */
function lateness(nanoseconds: number): number {
  const seconds = nanoseconds * NANO - RESOLUTION_MS / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : 0;
}
