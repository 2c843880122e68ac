/** In which trace the events of a log go to a webhook: that of the last command before them. */
import type { Command } from "../../gen/throughline/v1/log_pb.ts";
import type { Entry } from "../core/log-entry.ts";
import { type TracedWork, type Tracing, UNTRACED } from "../core/tracing.ts";
import { traceOf, traceTime } from "./stored-trace.ts";

/** The commands that one webhook's reader has passed. */
export class DeliveryTrace {
  readonly #tracing: Tracing;
  readonly #taskId: string;
  /** Reads the last command of the task, where the reader has passed none: it began behind it. */
  readonly #look: () => Promise<Command | undefined>;
  #page: readonly Entry[] = [];
  #last: Command | undefined;
  #known = false;

  constructor(tracing: Tracing, taskId: string, look: () => Promise<Command | undefined>) {
    this.#tracing = tracing;
    this.#taskId = taskId;
    this.#look = look;
  }

  /** The reader is about to pass these entries. */
  turnTo(entries: readonly Entry[]): void {
    this.#page = entries.filter(({ kind }) => kind === "command");
  }

  /** An attempt begins, with the event that ends at this place in the log. */
  async begin(offset: number, host: string): Promise<TracedWork> {
    const before = this.#page.findLast((entry) => entry.offset < offset);
    if (before !== undefined) this.#last = before.command;
    // Only where somebody records it: it may cost a read of the whole task.
    else if (this.#last === undefined && !this.#known && this.#tracing !== UNTRACED) this.#last = await this.#look();
    this.#known = true;
    const since = this.#last === undefined ? 0 : traceTime(this.#last);
    return this.#tracing.begin({ kind: "webhook", taskId: this.#taskId, trace: traceOf(this.#last), since, host });
  }
}
