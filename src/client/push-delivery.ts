/** How far a webhook is, as servers of this project tell it beside its configuration. */

/** Response header, and gRPC initial metadata: a dictionary of RFC 9651 (docs/webhooks.md). */
export const DELIVERY_HEADER = "throughline-delivery";

/** How far a webhook is. */
export interface PushDelivery {
  /** `active`: more may come. `done`: the task's last event is acknowledged. `parked`: given up, until it is registered again under its id. */
  readonly state: string;
  /** Offset in the task's log up to which it has acknowledged. */
  readonly acknowledged: number;
  /** Failures since the last acknowledgement. */
  readonly failures: number;
  /** When the next attempt is made, in seconds from now; 0 where it is due, or nothing waits. */
  readonly retryInSeconds: number;
  /** What failed last, or why it is parked; empty where nothing did. */
  readonly cause: string;
}

/** Reads the header; undefined where it is not there, or says no state. */
export function pushDeliveryOf(header: string | null | undefined): PushDelivery | undefined {
  const members = new Map<string, string>();
  for (const [, key = "", text, bare = ""] of (header ?? "").matchAll(/([a-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^,]*))/g))
    members.set(key, text?.replace(/\\(.)/g, "$1") ?? bare.trim());
  const state = members.get("state");
  if (state === undefined) return undefined;
  const number = (key: string): number => Number(members.get(key) ?? 0);
  return {
    state,
    acknowledged: number("acknowledged"),
    failures: number("failures"),
    retryInSeconds: number("retry-in"),
    cause: members.get("cause") ?? "",
  };
}
