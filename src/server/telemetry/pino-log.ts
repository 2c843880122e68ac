/** The log of a server as lines of JSON. */
import { trace } from "@opentelemetry/api";
import { type DestinationStream, pino } from "pino";
import type { Log } from "../../core/telemetry.ts";
import { plainFacts } from "./plain-facts.ts";

/**
 * Writes JSON lines to a stream, stderr by default. A line that is written in the course of a call or a turn says in which trace, where there is one.
 */
export function pinoLog(level: string, stream: DestinationStream = pino.destination(2)): Log {
  const log = pino({ level, formatters: { log: plainFacts }, mixin: active, mixinMergeStrategy }, stream);
  return {
    ...(log.isLevelEnabled("debug") && { debug: (facts: object, message: string) => log.debug(facts, message) }),
    info: (facts, message) => log.info(facts, message),
    warn: (facts, message) => log.warn(facts, message),
    error: (facts, message) => log.error(facts, message),
  };
}

/** What the line itself says of its trace counts. */
function mixinMergeStrategy(line: object, mixed: object): object {
  return { ...mixed, ...line };
}

function active(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}
