/** Facts as a line of the log may have them: what gives access is left out, and what somebody else threw can do no harm. */

/** Names of what gives access, or of what callers say to agents; as a part of a longer name too. */
const SECRET = /authorization|token|credential|passw|secret|cookie|header|api[-_]?key|private[-_]?key/i;
const REPLACED = "[Redacted]";
/** How deep facts are looked into. */
const DEPTH = 6;
/** Values of one line, and characters of all its texts. */
const VALUES = 200;
const CHARACTERS = 32 * 1024;

/**
 * A copy of plain objects. Errors belong to whoever threw them: agents, what they use, the callers' data in them. So each is looked at with care, none of
 * their own functions is called but getters, and no more is taken than a line has room for. Never throws.
 */
export function plainFacts(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return new Copy().object(facts, DEPTH);
}

/** One line. */
class Copy {
  #values = VALUES;
  #characters = CHARACTERS;

  object(value: object, depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      if (this.#values <= 0) break;
      const copy = this.#property(value, key, depth);
      if (copy !== undefined) result[key] = copy;
    }
    return result;
  }

  #property(owner: object, key: string, depth: number): unknown {
    try {
      const value = (owner as Record<string, unknown>)[key];
      return value !== undefined && SECRET.test(key) ? REPLACED : this.#value(value, depth);
    } catch {
      return "[unreadable]";
    }
  }

  #value(value: unknown, depth: number): unknown {
    this.#values -= 1;
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "bigint") return String(value);
    if (typeof value === "function" || typeof value === "symbol") return undefined;
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (depth === 0) return "[more]";
    if (Array.isArray(value)) return this.#array(value, depth - 1);
    return value instanceof Error ? this.#error(value, depth - 1) : this.object(value, depth - 1);
  }

  #array(values: readonly unknown[], depth: number): unknown[] {
    const result: unknown[] = [];
    for (let index = 0; index < values.length && this.#values > 0; index += 1)
      result.push(this.#property(values, String(index), depth) ?? null);
    return result;
  }

  /** What it is, says and comes from first: whatever else it has may be too much. */
  #error(error: Error, depth: number): Record<string, unknown> {
    const type = this.#property(error, "name", 0);
    const [message, stack, cause] = ["message", "stack", "cause"].map((key) => this.#property(error, key, depth));
    const errors = error instanceof AggregateError ? this.#property(error, "errors", depth) : undefined;
    return {
      ...this.object(error, depth),
      type,
      message,
      stack,
      ...(cause !== undefined && { cause }),
      ...(errors !== undefined && { errors }),
    };
  }

  #text(text: string): string {
    const kept = text.length <= this.#characters ? text : `${text.slice(0, this.#characters)}… (${text.length} characters)`;
    this.#characters = Math.max(0, this.#characters - text.length);
    return kept;
  }
}
