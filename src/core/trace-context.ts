/** Where something stands in a trace, as W3C Trace Context writes it: what goes from process to process, whoever records spans. */

/** A place in a trace. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, as {@link parseTraceContext} takes it. */
  readonly traceparent: string;
  /** What the tracing systems on the way have added; empty where none has. */
  readonly tracestate: string;
}

/** Header fields, and gRPC metadata keys, that carry a place in a trace. */
export const TRACE_FIELDS = { parent: "traceparent", state: "tracestate" } as const;

/** A later version may have more fields after these four, and is read as if it had not (W3C Trace Context, 4.3). */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]*)?$/;
/** What is longer is not handed on (W3C Trace Context, 3.3.1.5). */
const MAX_STATE_LENGTH = 512;

/** What gRPC carries. */
const PRINTABLE = /^[ -~]*$/;

/** Reads the two fields; undefined where the first is missing or malformed, so that a trace begins here. */
export function parseTraceContext(traceparent: string | null | undefined, tracestate?: string | null): TraceContext | undefined {
  if (traceparent === null || traceparent === undefined || traceparent.length > MAX_STATE_LENGTH) return undefined;
  const match = TRACEPARENT.exec(traceparent);
  // Version 00 has four fields and no more.
  if (match === null || (match[1] === "00" && match[2] !== undefined)) return undefined;
  return { traceparent, tracestate: readState(tracestate ?? "") };
}

/** Empty where it is malformed: what goes on with it may go over gRPC, which would refuse it. Tabs may stand around its commas, and are blanks there. */
function readState(tracestate: string): string {
  const state = tracestate.replaceAll("\t", " ");
  return state.length > MAX_STATE_LENGTH || !PRINTABLE.test(state) ? "" : state;
}

/** The fields that hand a place on; none where there is none. */
export function traceHeaders(trace: TraceContext | undefined): Record<string, string> {
  if (trace === undefined) return {};
  const { traceparent, tracestate } = trace;
  return { [TRACE_FIELDS.parent]: traceparent, ...(tracestate !== "" && { [TRACE_FIELDS.state]: tracestate }) };
}
