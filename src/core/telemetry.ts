/** What the domain tells about itself. The server binds these to a logger; without one they say nothing. */

/** Structured logging: facts first, then a sentence. Nothing of it reaches a caller. */
export interface Log {
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** A log that keeps nothing. */
export const SILENT: Log = { info() {}, warn() {}, error() {} };
