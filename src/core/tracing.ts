/** What the domain tells of its work to those who trace it. The server binds it to spans; without one, traces only pass through. */
import type { TraceContext } from "./trace-context.ts";

/** Work that a call has brought about, and that may be done elsewhere and later. */
export interface WorkFacts {
  /** A run of the agent; or one attempt to deliver to a webhook. */
  readonly kind: "turn" | "webhook";
  readonly taskId: string;
  readonly contextId?: string;
  /** Where the call stood in a trace. */
  readonly trace: TraceContext | undefined;
  /** When the call began, in milliseconds since 1970. */
  readonly since: number;
  /** 1 for the first run of a turn. */
  readonly attempt?: number;
  /** Where a webhook is. */
  readonly host?: string;
}

/** One piece of work that is traced. None of its methods throws. */
export interface TracedWork {
  /** What is handed on to whoever is called in its course. */
  readonly trace: TraceContext | undefined;
  /** Runs it, or a part of it. */
  run<T>(step: () => T): T;
  /** It is over: in a few words how, and what went wrong if something did. */
  ended(outcome: string, failed: boolean): void;
}

/** Who traces. */
export interface Tracing {
  /** Work begins. */
  begin(work: WorkFacts): TracedWork;
}

/** Traces that pass through as they came. */
export const UNTRACED: Tracing = {
  begin: ({ trace }) => ({ trace, run: (step) => step(), ended: () => undefined }),
};
