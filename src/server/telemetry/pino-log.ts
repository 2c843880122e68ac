/** The log of a server as lines of JSON. */
import { trace } from "@opentelemetry/api";
import { type DestinationStream, pino } from "pino";
import type { Log } from "../../core/telemetry.ts";
import { plainFacts } from "./plain-facts.ts";

/** Characters that wait to be written at most, where that fails. */
const MAX_WAITING = 1024 * 1024;

/**
 * Writes JSON lines to a stream, stderr by default. A line that is written in the course of a call or a turn says in which trace, where there is one.
 */
export function pinoLog(level: string, stream: DestinationStream = standardError()): Log {
  const log = pino({ level, formatters: { log: plainFacts }, mixin: active, mixinMergeStrategy }, stream);
  return {
    ...(log.isLevelEnabled("debug") && { debug: (facts: object, message: string) => log.debug(facts, message) }),
    info: (facts, message) => log.info(facts, message),
    warn: (facts, message) => log.warn(facts, message),
    error: (facts, message) => log.error(facts, message),
  };
}

/** Whoever keeps these lines may have no room: then some are lost, and nothing else is. */
function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true, maxLength: MAX_WAITING });
  stream.on("error", () => undefined);
  return stream;
}

/** What the line itself says of its trace counts. */
function mixinMergeStrategy(line: object, mixed: object): object {
  return { ...mixed, ...line };
}

function active(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}
