/** The streams that are open on this replica: what a drain ends. */
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TaskError } from "../core/errors.ts";
import { Follower, type FollowOptions, type OpenStream } from "../core/follow.ts";
import type { Measures } from "../core/telemetry.ts";

/** Makes the error with which a drain ends what follows a task. */
export type DrainError = (taskId: string) => TaskError;

/** Keeps every open follower until it ends. */
export class Streams {
  readonly #drained: DrainError;
  readonly #measures: Measures | undefined;
  readonly #open = new Map<OpenStream, string>();
  #draining = false;
  #onIdle: (() => void) | undefined;

  /** `measures`: told how long entries took to those that follow. Default: nobody. */
  constructor(drained: DrainError, measures?: Measures) {
    this.#drained = drained;
    this.#measures = measures;
  }

  /** Opens a follower. During a drain it fails at its first frame. */
  open<T = StreamResponse>(options: Omit<FollowOptions<T>, "onEnd">): Follower<T> {
    const follower = new Follower<T>({ ...options, measures: this.#measures, onEnd: (ended) => this.#ended(ended) });
    if (follower.ended) return follower;
    this.#open.set(follower, options.taskId);
    if (this.#draining) follower.fail(this.#drained(options.taskId));
    return follower;
  }

  #ended(follower: OpenStream): void {
    this.#open.delete(follower);
    if (this.#open.size === 0) this.#onIdle?.();
  }

  /** Resolves when no stream is open any more, or `ms` have passed. */
  async idle(ms: number, skip?: AbortSignal): Promise<void> {
    const until = AbortSignal.any([AbortSignal.timeout(ms), ...(skip === undefined ? [] : [skip])]);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    if (this.#open.size === 0 || until.aborted) resolve();
    until.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  /** Ends everything that is open, and whatever is opened from now on. */
  drain(): void {
    this.#draining = true;
    for (const [follower, taskId] of this.#open) follower.fail(this.#drained(taskId));
  }
}

/** What a stream of a caller ends with: any other replica goes on from where it stands (docs/architecture.md, Draining). */
export const streamDrained: DrainError = (taskId) =>
  new TaskError("STREAM_DRAINED", "this replica is going away: subscribe again", { metadata: { taskId } });

/** What a call that waits for a task ends with, and what a send is refused with that nobody would work on. */
export const callDrained: DrainError = (taskId) =>
  new TaskError("SERVER_DRAINING", "this replica is going away: ask again", {
    metadata: taskId === "" ? {} : { taskId },
    retryAfterMs: 1000,
  });
