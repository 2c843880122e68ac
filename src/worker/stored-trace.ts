/** The trace of the call that brought a command: in the log, and for those who work on it. */
import { create } from "@bufbuild/protobuf";
import { type Command, type TraceContext as StoredTrace, TraceContextSchema } from "../../gen/throughline/v1/log_pb.ts";
import { parseTraceContext, type TraceContext } from "../core/trace-context.ts";

/** As it is stored with the command. */
export function storedTrace({ traceparent, tracestate }: TraceContext): StoredTrace {
  return create(TraceContextSchema, { parent: traceparent, state: tracestate, time: BigInt(Date.now()) });
}

/** As it was; undefined where the command has none. */
export function traceOf(command: Command | undefined): TraceContext | undefined {
  return command?.trace && parseTraceContext(command.trace.parent, command.trace.state);
}

/** When the call of a command with a trace began, in milliseconds since 1970. */
export function traceTime({ trace }: Command): number {
  return Number(trace?.time ?? 0);
}
