/** Who watches calls: told of every call of every binding, once when it begins and once when it has ended. */
import { type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { parseTraceContext, TRACE_FIELDS, type TraceContext } from "../core/trace-context.ts";
import type { CallStatus } from "./errors.ts";

/** How a call came. */
export type Binding = "grpc" | "connect" | "grpc-web" | "rest" | "json-rpc";

/** What is known of a call when it begins. */
export interface CallFacts {
  readonly binding: Binding;
  /** Full name of the service, `lf.a2a.v1.A2AService`. */
  readonly service: string;
  /** Name of the operation; undefined where the call was refused before it could be read. */
  readonly operation: string | undefined;
  /** Whether the operation streams. */
  readonly streams: boolean;
  /** The trace that the caller is in. */
  readonly trace: TraceContext | undefined;
}

/**
 * How a stream began. `send`: with a message that began or continued a task. What the others give is a resume. `repeat`: with a message that was
 * sent before. `snapshot`: with the task as it is. `position`: after the last event that its reader has seen.
 */
export type StreamStart = "send" | "repeat" | "snapshot" | "position";

/** Who watches. */
export interface CallObserver {
  /** A call begins. Never throws. */
  began(call: CallFacts): ObservedCall;
}

/** One call that is watched. None of its methods throws; after `ended` none is called. */
export interface ObservedCall {
  /** Where the call stands in a trace: what it begins elsewhere is its child. Undefined where nobody traces. */
  readonly trace: TraceContext | undefined;
  /** Who calls. */
  by(principal: string): void;
  /** The task that the call is about, and its context where that is known. */
  about(taskId: string, contextId: string): void;
  /** Runs what the call asks for. */
  run<T>(step: () => T): T;
  /** The stream is taken, and gives frames until the call ends. Told before the first one. */
  opened(start: StreamStart): void;
  /** The stream went on from a snapshot: its place in the log was not kept. */
  rewound(): void;
  /** The call has ended: answered, refused, or left by its caller. */
  ended(status: CallStatus): void;
}

/** The call as it is watched; undefined where nobody watches. */
export const observedKey: ContextKey<ObservedCall | undefined> = createContextKey<ObservedCall | undefined>(undefined, {
  description: "observed call",
});

/** Where a call stands in a trace: its own place, or its caller's where nobody traces here. */
export function traceOf({ values, requestHeader }: HandlerContext): TraceContext | undefined {
  return values.get(observedKey)?.trace ?? incomingTrace(requestHeader);
}

/** The trace that a caller names. */
export function incomingTrace(headers: Headers): TraceContext | undefined {
  return parseTraceContext(headers.get(TRACE_FIELDS.parent), headers.get(TRACE_FIELDS.state));
}
