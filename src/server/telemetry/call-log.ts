/** One line for each call, when it has ended. */
import { type Log, SILENT } from "../../core/telemetry.ts";
import type { CallFacts, StreamStart } from "../../rpc/call-observer.ts";
import type { CallStatus } from "../../rpc/errors.ts";

/** Which calls are told of at info and above: those that were refused or failed, all of them, or none at any level. */
export type CallLogging = "failed" | "all" | "none";

/** What a line says besides the status. */
export interface CallLine {
  readonly call: CallFacts;
  readonly ms: number;
  readonly principal: string | undefined;
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  /** How the stream began. */
  readonly start: StreamStart | undefined;
  readonly ids: { readonly trace_id: string; readonly span_id: string } | undefined;
}

/** What is the server's own failure, or of what it depends on. */
const OURS: ReadonlySet<string> = new Set(["INTERNAL", "INVALID_AGENT_RESPONSE", "STORE_UNAVAILABLE", "IDENTITY_UNAVAILABLE"]);
/** Callers leave streams all the time; and whoever floods a server with what is refused must not write its log. */
const COMMON: ReadonlySet<string> = new Set(["CANCELLED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED"]);

/** Writes lines of calls. */
export class CallLog {
  readonly #log: Log;
  readonly #all: boolean;

  private constructor(log: Log, all: boolean) {
    this.#log = log;
    this.#all = all;
  }

  /** Undefined where none are wanted, or nobody reads them. */
  static open(log: Log, which: CallLogging): CallLog | undefined {
    return which === "none" || log === SILENT ? undefined : new CallLog(log, which === "all");
  }

  /** A call has ended. */
  ended(status: CallStatus, line: () => CallLine): void {
    const level = this.#levelOf(status);
    // Few logs are told of debugging: nothing is made for the others.
    if (this.#log[level] === undefined) return;
    const { call, ms, principal, taskId, contextId, start, ids } = line();
    const { binding, operation } = call;
    const facts = { binding, operation, ...status, ms: Math.round(ms * 10) / 10, principal, taskId, contextId, stream: start, ...ids };
    this.#log[level](facts, `${operation ?? "a call"} ${status.reason ?? status.status}`);
  }

  #levelOf({ reason }: CallStatus): "debug" | "info" | "warn" {
    if (reason !== undefined && OURS.has(reason)) return "warn";
    if (this.#all) return "info";
    return reason === undefined || COMMON.has(reason) ? "debug" : "info";
  }
}
