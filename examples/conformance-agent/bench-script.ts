/** The `k=v` words that tell a bench agent what its task is to be like, and how it does that. */
import { setTimeout as sleep } from "node:timers/promises";

/** What one task of a bench agent is to be like. */
export interface BenchScript {
  /** Updates between working and completed. Default 3. */
  readonly events: number;
  /** Bytes of text in each update. Default 100. */
  readonly bytes: number;
  /** Chunks of one artifact, or status messages. Default artifact. */
  readonly kind: "artifact" | "status";
  /** Milliseconds between updates. Default 0: all at once. */
  readonly delay: number;
  /** Milliseconds before the first update, after working. Default 0. */
  readonly start: number;
  /** Milliseconds before completed. Default 0. */
  readonly hold: number;
  /** Milliseconds before the agent produces anything at all. Default 0. */
  readonly silent: number;
}

/** A word that cannot be read; the message names it. */
export class BadScript extends Error {
  override readonly name = "BadScript";
}

/** Largest number of a script: timers and strings take it. */
const MAX = 2 ** 28;

/** Reads a script from a message's text; words it does not know are ignored. Throws {@link BadScript}. */
export function parseScript(text: string): BenchScript {
  const words = new Map(text.split(/\s+/u).map((word) => word.split("=", 2) as [string, string | undefined]));
  const number = (name: string, otherwise: number): number => {
    const given = words.get(name);
    if (given === undefined) return otherwise;
    const value = /^\d+$/.test(given) ? Number(given) : Number.NaN;
    if (value <= MAX) return value;
    throw new BadScript(`${name} is a whole number of at most ${MAX}, not ${given.slice(0, 40)}`);
  };
  const kind = words.get("kind") ?? "artifact";
  if (kind !== "artifact" && kind !== "status") throw new BadScript(`kind is artifact or status, not ${kind.slice(0, 40)}`);
  return {
    events: number("events", 3),
    bytes: number("bytes", 100),
    kind,
    delay: number("delay", 0),
    start: number("start", 0),
    hold: number("hold", 0),
    silent: number("silent", 0),
  };
}

/** Answers a wait that ends every `delay` ms, counted from now on; time that the caller spends in between is not added. */
export function pacer(delay: number, signal: AbortSignal): () => Promise<void> {
  let due = performance.now();
  return async () => {
    due += delay;
    await sleep(Math.max(0, due - performance.now()), undefined, { signal });
  };
}

/** The text of one update: when it was made, by the clock that all processes of this host share, and padding up to `bytes`. */
export function updateText(bytes: number): string {
  return `t=${process.hrtime.bigint()} `.padEnd(bytes, "x");
}
