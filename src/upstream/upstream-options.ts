/** How an upstream agent is called, and what is done when it is lost. */
import type { ClientOptionsInput } from "../client/index.ts";
import { guardedLog } from "../core/guarded-log.ts";
import { type Log, SILENT } from "../core/telemetry.ts";

/** Options, complete. */
export interface UpstreamOptions {
  /** How the upstream agent is called: bindings, credentials of the front's own, TLS, timeouts. */
  readonly client: ClientOptionsInput;
  /** URIs of extensions that callers may activate upstream, and that the card keeps. Default none. */
  readonly extensions: readonly string[];
  /**
   * Header fields of callers that the server hands on: its own option of this name. Where they are those that the upstream takes credentials
   * in, the card keeps what it says of them. Default none.
   */
  readonly forwardHeaders: readonly string[];
  /**
   * How long a send waits for the upstream's first word before its task begins without it; keep it below `replyTimeoutMs`. 0: not at all. Then
   * nothing goes upstream that is not stored first, a plain message of the upstream is the last word of a task, and so is what it refuses.
   * Default 2 s.
   */
  readonly firstWordMs: number;
  /**
   * How long a message that may have arrived is looked for before it is sent again, to an upstream that knows no repeats: it may show a task
   * only when it begins to work on it. Default 10 s.
   */
  readonly settleMs: number;
  /** Time between two looks for an upstream that is away. Default 1 s. */
  readonly retryMs: number;
  /** How long the upstream may be away before a task that waits for it ends FAILED. Default 15 min. */
  readonly awayMs: number;
  /**
   * What becomes of a task that the upstream no longer knows. `fail`: it ends FAILED, the work may have run (CL-11). `rerun`: its message is
   * sent again as a new upstream task, for agents whose work does no harm when it is done twice. Default `fail`.
   */
  readonly lost: "fail" | "rerun";
  /** Whether messages are handed on while a task works; the upstream must take them. Default false. */
  readonly acceptsMessages: boolean;
  /** Told when the upstream goes away and comes back, and of tasks that it has lost. Default: silent. */
  readonly log: Log;
}

/** Options as they are given: everything may be left out. */
export type UpstreamOptionsInput = Partial<UpstreamOptions>;

const DEFAULTS: UpstreamOptions = {
  client: {},
  extensions: [],
  forwardHeaders: [],
  firstWordMs: 2000,
  settleMs: 10_000,
  retryMs: 1000,
  awayMs: 15 * 60_000,
  lost: "fail",
  acceptsMessages: false,
  log: SILENT,
};

/** Completes options. */
export function resolveUpstreamOptions(given: UpstreamOptionsInput): UpstreamOptions {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const all = { ...DEFAULTS, ...set };
  // Who wants to be left alone for longer counts as away.
  return { ...all, log: guardedLog(all.log), client: { patienceMs: all.awayMs, ...all.client } };
}
