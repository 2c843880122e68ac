/** How an upstream agent is called, and what is done when it is lost. */
import type { ClientOptionsInput } from "../client/index.ts";

/** Options, complete. */
export interface UpstreamOptions {
  /** How the upstream agent is called: bindings, credentials of the front's own, TLS, timeouts. */
  readonly client: ClientOptionsInput;
  /** URIs of extensions that callers may activate upstream, and that the card keeps. Default none. */
  readonly extensions: readonly string[];
  /**
   * Whether the card keeps what the upstream says of credentials: for those who hand their callers' own credentials on (`forwardHeaders`).
   * Default false.
   */
  readonly keepSecurity: boolean;
  /** How long `reply` waits for the upstream's first word before a task begins without it. Default 2 s; keep it below `replyTimeoutMs`. */
  readonly firstWordMs: number;
  /** How long the upstream may be away before a task that waits for it ends FAILED. Default 15 min. */
  readonly awayMs: number;
  /**
   * What becomes of a task that the upstream no longer knows. `fail`: it ends FAILED, the work may have run (CL-11). `rerun`: its message is
   * sent again as a new upstream task, for agents whose work does no harm when it is done twice. Default `fail`.
   */
  readonly lost: "fail" | "rerun";
  /** Whether messages are handed on while a task works; the upstream must take them. Default false. */
  readonly acceptsMessages: boolean;
}

/** Options as they are given: everything may be left out. */
export type UpstreamOptionsInput = Partial<UpstreamOptions>;

const DEFAULTS: UpstreamOptions = {
  client: {},
  extensions: [],
  keepSecurity: false,
  firstWordMs: 2000,
  awayMs: 15 * 60_000,
  lost: "fail",
  acceptsMessages: false,
};

/** Completes options. */
export function resolveUpstreamOptions(given: UpstreamOptionsInput): UpstreamOptions {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...DEFAULTS, ...set };
}
