/** What both bench agents share: the `k=v` words that tell them what to do, and how they do it. */
import { setTimeout as sleep } from "node:timers/promises";

/** What one task of the bench agent is to be like. */
export interface Script {
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

/** Reads a script from a message's text; words it does not know are ignored. */
export function parseScript(text: string): Script {
  const words = new Map(text.split(/\s+/u).map((word) => word.split("=", 2) as [string, string | undefined]));
  const number = (name: string, otherwise: number): number => {
    const value = Number(words.get(name) ?? otherwise);
    if (!Number.isInteger(value) || value < 0) throw new Error(`${name} is no whole number: ${words.get(name)}`);
    return value;
  };
  return {
    events: number("events", 3),
    bytes: number("bytes", 100),
    kind: words.get("kind") === "status" ? "status" : "artifact",
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

/** The text of one update: when it was made, by the clock that all processes of this host share, and padding. */
export function updateText(bytes: number): string {
  return `t=${process.hrtime.bigint()} `.padEnd(bytes, "x");
}

/** When the update in this frame was made, in nanoseconds. */
export function madeAt(frame: Buffer): bigint {
  const found = /t=(\d+) /u.exec(frame.toString("latin1"))?.[1];
  if (found === undefined) throw new Error("the frame has no time in it");
  return BigInt(found);
}
