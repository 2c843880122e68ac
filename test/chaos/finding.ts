/** What a check of the run has found. */

/**
 * `lost`: an event that the log has did not reach a follower or the final task, or something acknowledged has vanished. `doubled`: an event
 * twice in a log or at a follower, a task twice for one message. `reordered`: out of its order. `forgotten`: a task that nobody brings to
 * rest, a message that no turn was given. `broken`: any other promise, or an answer that no fault excuses.
 */
export type FindingKind = "lost" | "doubled" | "reordered" | "forgotten" | "broken";

/** One of them. */
export interface Finding {
  readonly kind: FindingKind;
  readonly taskId: string;
  readonly what: string;
}
