/** How the service behaves where the protocol leaves a choice. Defaults stand in server/options. */
export interface ServiceOptions {
  /** How repeated sends are told: see docs/architecture. */
  readonly dedupe: { readonly mode: "window" | "running" | "off"; readonly windowMs: number };
  /** Which streams end at INPUT_REQUIRED (C-02). */
  readonly closeOnInputRequired: "send" | "all" | "none";
  /** How long an agent's `reply` may think. */
  readonly replyTimeoutMs: number;
  /** How long CancelTask waits for the agent to end. */
  readonly cancelGraceMs: number;
  /** Encoded bytes of a Task beyond which a send is refused. */
  readonly maxTaskBytes: number;
  /** Bounds of a message, and how many tasks of one owner may be at work at once. */
  readonly limits: { readonly eventBytes: number; readonly partsPerMessage: number; readonly turnsPerPrincipal: number };
  /** Messages that `history` keeps. */
  readonly historyLimit: number;
  /** Names, in lower case, of the header fields of a call that its turn is shown. They are stored with the task's log. */
  readonly forwardHeaders: readonly string[];
  /** Webhooks: whether callers may register them, how many a task may have, whether replies leave out their secrets. */
  readonly push: { readonly enabled: boolean; readonly maxConfigs: number; readonly redact: boolean };
  /** Tenants that calls may name; undefined: none, `any`: every one. */
  readonly tenants?: readonly string[] | "any" | undefined;
}
