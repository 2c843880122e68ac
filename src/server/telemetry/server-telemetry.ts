/** Who is told what a server does: its measures, its work, its calls. */
import type { Log } from "../../core/telemetry.ts";
import type { Tracing } from "../../core/tracing.ts";
import type { CallObserver } from "../../rpc/call-observer.ts";
import type { CallLogging } from "./call-log.ts";
import { Meters } from "./meters.ts";
import { observeCalls } from "./observe-calls.ts";
import { workTracing } from "./work-spans.ts";

/** What a server tells of itself. */
export interface ServerTelemetry {
  readonly measures: Meters;
  readonly tracing: Tracing;
  /** Undefined where nobody would see anything of its calls. */
  readonly observer: CallObserver | undefined;
}

/** Tells the log, and the global providers of OpenTelemetry as they are when this is called. */
export function serverTelemetry(log: Log, { callLog }: { readonly callLog: CallLogging }): ServerTelemetry {
  const measures = new Meters();
  return { measures, tracing: workTracing(), observer: observeCalls(log, callLog, measures.tallies) };
}
