/** The trace of the call that brought a command: in the log, and for those who work on it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Command, CommandSchema } from "../../gen/throughline/v1/log_pb.ts";
import { parseTraceContext, type TraceContext } from "../core/trace-context.ts";

/** As it is stored with the command; nothing where the call stood in no trace. */
export function storedTrace(trace: TraceContext | undefined): Pick<Exclude<MessageInitShape<typeof CommandSchema>, Command>, "trace"> {
  if (trace === undefined) return {};
  return { trace: { parent: trace.traceparent, state: trace.tracestate, time: BigInt(Date.now()) } };
}

/** As it was; undefined where the command has none. */
export function traceOf(command: Command | undefined): TraceContext | undefined {
  return command?.trace && parseTraceContext(command.trace.parent, command.trace.state);
}

/** When the call of a command with a trace began, in milliseconds since 1970. */
export function traceTime({ trace }: Command): number {
  return Number(trace?.time ?? 0);
}
