/** A run of the upstream's task, read event by event by one reader after another. */
import type { RunEvent } from "../client/index.ts";
import { isAnswer } from "./failures.ts";
import type { UpstreamSight } from "./upstream-sight.ts";

/** What can be read: a run of the client, or one of our own making. */
export interface Readable extends AsyncIterable<RunEvent, void> {
  /** Stops reading; the upstream's task goes on. */
  close(): Promise<void>;
}

/** What comes of waiting for the next event. */
export type Read =
  | { readonly is: "event"; readonly event: RunEvent }
  | { readonly is: "end" }
  | { readonly is: "error"; readonly error: unknown };

/** Holds the place in a run: an event that was looked at is not lost to whoever reads on. */
export class Reading {
  readonly #run: Readable;
  readonly #events: AsyncIterator<RunEvent, void>;
  readonly #sight: UpstreamSight;
  #next: Promise<Read> | undefined;

  /** `sight`: told of each event, and of each other answer. */
  constructor(run: Readable, sight: UpstreamSight) {
    this.#run = run;
    this.#sight = sight;
    this.#events = run[Symbol.asyncIterator]();
  }

  /** The next event, or the end; the same one until it is {@link taken}. Never rejects. */
  next(): Promise<Read> {
    this.#next ??= this.#events.next().then(
      ({ done, value }): Read => {
        if (done === true) return { is: "end" };
        this.#sight.heard();
        return { is: "event", event: value };
      },
      (error: unknown): Read => {
        if (isAnswer(error)) this.#sight.heard();
        return { is: "error", error };
      },
    );
    return this.#next;
  }

  /** What `next` gave has been dealt with. */
  taken(): void {
    this.#next = undefined;
  }

  /** Lets a run that has brought its last event come to its end: to break it off would cost more. */
  async finish(): Promise<void> {
    this.taken();
    if ((await this.next()).is === "event") await this.close();
  }

  /** Stops reading; the upstream's task goes on. */
  close(): Promise<void> {
    return this.#run.close();
  }
}
