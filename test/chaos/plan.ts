/** The faults of a run, drawn before it begins. */
import type { Random } from "./random.ts";

/** What can happen to a replica or to its way to the store. */
export const REPLICA_FAULTS = ["kill", "freeze", "drain"] as const;
export const LINK_FAULTS = ["cut", "block", "delay", "half-open", "drop reply"] as const;
/** What can happen to clients of ours on their way to a replica. */
export const WAY_FAULTS = ["way reset", "way ended", "way half-open", "way idle", "way restarted"] as const;
/** Faults that cut callers off. */
export const CUTS: ReadonlySet<string> = new Set(["kill", "drain", ...WAY_FAULTS]);

/** How often each comes in one deck; what is not named comes once. */
const WEIGHTS: Readonly<Record<string, number>> = {
  kill: 3,
  freeze: 3,
  drain: 3,
  cut: 3,
  "drop reply": 4,
  block: 2,
  delay: 2,
  "half-open": 2,
  "way reset": 4,
  "way ended": 4,
  "way half-open": 4,
  "way idle": 5,
  "way restarted": 3,
  "master killed": 2,
  "failover asked for": 2,
  "node killed": 4,
  "lagging replica promoted": 3,
};

/** One fault. */
export interface PlannedFault {
  /** Milliseconds after the run's begin. */
  readonly at: number;
  readonly kind: string;
  /** Names the fault's own chance: whom it hits, how long it lasts. */
  readonly name: string;
}

/**
 * Faults without end, `everyMs` apart on the average. They are dealt from decks that hold every kind, so that none is missing from a run of
 * some length.
 */
export function* planFaults(random: Random, kinds: readonly string[], everyMs: number): Generator<PlannedFault, void> {
  const cards = kinds.flatMap((kind) => Array.from({ length: WEIGHTS[kind] ?? 1 }, () => kind));
  if (cards.length === 0) return;
  let deck: string[] = [];
  let at = 0;
  for (let number = 0; ; number += 1) {
    if (deck.length === 0) deck = random.shuffled(cards);
    at += random.wait(everyMs);
    yield { at, kind: deck.pop() as string, name: `fault ${number}` };
  }
}
