/** Quotas: how often something may be done, counted once for all replicas. */

/** So many a second on average, and `burst` at once. */
export interface Quota {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many were granted, and how long until one more can be: 0 where that is now. */
export interface Spent {
  readonly granted: number;
  readonly retryAfterMs: number;
}

/** The part of a store that counts. What it counts is no task and may be lost. */
export interface Quotas {
  /**
   * Spends up to `most` of the quota under this key, in one step over all replicas. A repeated attempt may cost twice. The store keeps a
   * key for as long as its quota is not whole.
   */
  spend(key: string, quota: Quota, most: number): Promise<Spent>;
}

/** A share of one that clocks may have lost: a grant comes earlier by that much, and not later. */
const ROUNDING = 0.001;

/**
 * The generic cell rate algorithm: all that is kept of a quota is when it is whole again. Answers that time as well. A time that is too far
 * away, of another clock or of a larger quota, counts as that of an empty one.
 */
export function spendFrom(wholeAt: number, now: number, { perSecond, burst }: Quota, most: number): Spent & { readonly wholeAt: number } {
  const each = 1000 / perSecond;
  const full = now + each * burst;
  const before = Math.min(Math.max(wholeAt, now), full);
  const granted = Math.min(most, Math.floor((full - before) / each + ROUNDING));
  const after = before + granted * each;
  return { granted, retryAfterMs: Math.max(0, Math.ceil(after + each - full - ROUNDING)), wholeAt: after };
}
