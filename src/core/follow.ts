/** Snapshot and tail: the only way a task is streamed. */
import { untilAnswered } from "./retrying.ts";
import { isTerminal, stateAfter, stateOf } from "./task.ts";
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Snapshot } from "./fold.ts";
import type { Entry, Position } from "./log-entry.ts";
import type { Snapshots } from "./snapshots.ts";
import type { Storage, TailStep } from "./storage.ts";
import type { Measures } from "./telemetry.ts";

/** One frame of a stream: the task at a position, or the event at one. */
export type Frame = { readonly is: "snapshot"; readonly snapshot: Snapshot } | { readonly is: "event"; readonly entry: Entry };

/** A stream as far as whoever keeps it needs to know. */
export interface OpenStream {
  /** Ends the stream with an error at the next frame boundary. */
  fail(error: unknown): void;
}

/** What a follower needs. */
export interface FollowOptions<T> {
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly taskId: string;
  /** First frame, or the position after which to go on without one. */
  readonly from: Snapshot | Position;
  /** Turns a frame into what the reader wants. */
  readonly project: (frame: Frame) => T;
  /**
   * Whether the stream ends after the frame that brings this state; `start`: it is the snapshot with which the stream began. Terminal
   * states end it in any case.
   */
  readonly endsAfter?: (state: TaskState, start: boolean) => boolean;
  /** Ends the stream quietly: its reader has gone. */
  readonly signal: AbortSignal;
  /** Told how long entries took from the log to a follower that waited. Default: nobody. */
  readonly measures?: Measures | undefined;
  /** Called when the stream goes on from a fresh snapshot, because its position was not kept. */
  readonly onRewound?: () => void;
  /** Called once, when the stream has ended for whatever reason. */
  readonly onEnd?: (stream: OpenStream) => void;
}

/**
 * Follows one task: every event after `from`, in order, no gap, no repeat, to the terminal one. Where the position is no longer kept it
 * goes on from a fresh snapshot, as a frame in mid-stream (C-35). Pulled, never pushed: it holds one page of entries at most.
 * An iterator by hand, not a generator: it answers from its page without suspending, and 500 of these may read one task.
 */
export class Follower<T> implements AsyncIterableIterator<T>, OpenStream {
  readonly #options: FollowOptions<T>;
  // V8 makes a function that is assigned to a property old from the start: it would keep the reader until a major collection.
  readonly #left = (): void => this.#stop();
  #tail: AsyncIterator<TailStep> | undefined;
  #first: Snapshot | undefined;
  #position: Position;
  #page: readonly Entry[] = [];
  #next = 0;
  #begun = false;
  #done = false;
  #failure: unknown;
  /** When it began to wait for the page that comes next, in milliseconds since 1970. */
  #asked = 0;

  constructor(options: FollowOptions<T>) {
    this.#options = options;
    const { from, signal } = options;
    if ("task" in from) {
      this.#first = from;
      this.#position = from.position;
    } else {
      this.#position = from;
    }
    if (signal.aborted) this.#stop();
    else signal.addEventListener("abort", this.#left, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const ready = this.#ready();
    if (ready !== undefined) return Promise.resolve(ready);
    return this.#pull();
  }

  /** Whether the stream has ended; what is still in hand is not delivered. */
  get ended(): boolean {
    return this.#done;
  }

  /** Ends the stream with an error at the next frame boundary: what is read already is not delivered any more. */
  fail(error: unknown): void {
    if (this.#done) return;
    this.#failure = error;
    this.#stop();
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  #stop(): void {
    if (!this.#done) this.#options.onEnd?.(this);
    this.#done = true;
    this.#page = [];
    this.#options.signal.removeEventListener("abort", this.#left);
    // A call that is over keeps its own signal: the tail is told here.
    void this.#tail?.return?.();
  }

  /** The next frame if it is in hand. */
  #ready(): IteratorResult<T, undefined> | undefined {
    if (this.#done) {
      return this.#failure === undefined ? { done: true, value: undefined } : undefined;
    }
    if (this.#first !== undefined) {
      const snapshot = this.#first;
      this.#first = undefined;
      this.#position = snapshot.position;
      this.#reached(stateOf(snapshot.task), !this.#begun);
      return { done: false, value: this.#options.project({ is: "snapshot", snapshot }) };
    }
    while (this.#next < this.#page.length) {
      const entry = this.#page[this.#next] as Entry;
      this.#next += 1;
      if (this.#next === this.#page.length) this.#turn([]);
      this.#position = { offset: entry.offset, mark: entry.mark };
      if (entry.kind !== "event") continue;
      this.#reached(stateAfter(entry.event), false);
      return { done: false, value: this.#options.project({ is: "event", entry }) };
    }
    return undefined;
  }

  /** A frame is about to be delivered: it may be the last. */
  #reached(state: TaskState | undefined, start: boolean): void {
    this.#begun = true;
    if (state !== undefined && (isTerminal(state) || this.#options.endsAfter?.(state, start) === true)) this.#stop();
  }

  #pull(): Promise<IteratorResult<T, undefined>> {
    if (this.#failure !== undefined) return Promise.reject(this.#takeFailure());
    this.#tail ??= this.#options.storage.tail(this.#options.taskId, this.#position, this.#options.signal);
    if (this.#options.measures !== undefined) this.#asked = Date.now();
    return this.#tail.next().then(this.#stepped, this.#failed);
  }

  readonly #stepped = (step: IteratorResult<TailStep, unknown>): IteratorResult<T, undefined> | Promise<IteratorResult<T, undefined>> => {
    if (this.#done) return this.next();
    if (step.done === true) this.#stop();
    else if (step.value.is === "gone") return this.#again().then(() => this.next(), this.#failed);
    else {
      this.#turn(step.value.entries);
      this.#measure();
    }
    return this.#ready() ?? this.#pull();
  };

  /** A page that was there before it was asked for is its reader's lag, not ours. */
  #measure(): void {
    const { measures } = this.#options;
    const [first] = this.#page;
    if (measures !== undefined && first !== undefined && first.time >= this.#asked)
      measures.handedOver(Math.max(0, Date.now() - first.time));
  }

  readonly #failed = (error: unknown): Promise<IteratorResult<T, undefined>> => {
    this.fail(error);
    return this.next();
  };

  #takeFailure(): unknown {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  #turn(page: readonly Entry[]): void {
    this.#page = page;
    this.#next = 0;
  }

  async #again(): Promise<void> {
    this.#tail = undefined;
    const { snapshots, taskId, onRewound } = this.#options;
    onRewound?.();
    // A stream waits while the store is away.
    this.#first = await untilAnswered(
      () => snapshots.read(taskId),
      () => this.#done,
    );
  }
}
