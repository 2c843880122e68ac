/** A log that no line can break. */
import { type Log, SILENT } from "./telemetry.ts";

/**
 * The same log, which never throws: facts have errors in them that agents threw, and loggers stumble over frozen ones, or over their getters. What that
 * would end is a turn that was about to fail, or the process.
 */
export function guardedLog(log: Log = SILENT): Log {
  // Nobody reads that one: it stays known as such.
  if (log === SILENT) return log;
  const guarded =
    (level: keyof Log): Log["info"] =>
    (facts, message) => {
      try {
        log[level]?.(facts, message);
      } catch {
        withoutFacts(log, level, message);
      }
    };
  return {
    ...(log.debug !== undefined && { debug: guarded("debug") }),
    info: guarded("info"),
    warn: guarded("warn"),
    error: guarded("error"),
  };
}

function withoutFacts(log: Log, level: keyof Log, message: string): void {
  try {
    log[level]?.({}, message);
  } catch {
    // Then it is told nothing.
  }
}
