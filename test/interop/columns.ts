/** What is tried, and what may come of it. */

/** The columns of the page; `replica` is a stream that is cut and picked up on another replica. */
export const COLUMNS = ["send", "ask", "fail", "message", "stream", "resume", "replica", "cancel", "list", "push", "error"] as const;

export type Column = (typeof COLUMNS)[number];

/** What came of one column over one binding. */
export interface Cell {
  readonly outcome: "works" | "not offered" | "fails";
  /** Why it does not work, in one line that is the same in each run. */
  readonly why?: string;
  /** What was not expected: the run fails. For people, and not on the page. */
  readonly surprise?: string;
}

/** Thrown by a trial where the other side says that it has no such thing. */
export class NotOffered extends Error {}
