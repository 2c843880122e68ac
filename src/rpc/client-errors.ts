/** What a failed call tells its caller, whatever binding it went over. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, type ErrorInfo, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Violation } from "../core/errors.ts";
import { A2A_DOMAIN, knownReason, statusName } from "./errors.ts";

/** A failure, in the same words for every binding. */
export interface ClientErrorFacts {
  /** The server's reason (`TASK_NOT_FOUND`), or where it gave none the gRPC name of the code (`UNAVAILABLE`). */
  readonly reason: string;
  /** Who defines the reason: `a2a-protocol.org`, or another; empty where the server gave none. */
  readonly domain: string;
  /** That of the reason where it is one of A2A's or ours: older servers had others for some of them (C-06). */
  readonly code: Code;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The bad fields, as far as the server named them. */
  readonly violations: readonly Violation[];
  /** When trying again makes sense, in milliseconds from now; undefined where the server did not say. */
  readonly retryAfterMs: number | undefined;
  /** No connection came about: the server has seen nothing of the call. False where that is not certain. */
  readonly unreached: boolean;
}

/** Reads the facts of anything a call was ended with. What is no ConnectError is UNKNOWN, an abort CANCELLED. */
export function clientErrorFacts(thrown: unknown): ClientErrorFacts {
  const error = ConnectError.from(thrown);
  const info = errorInfo(error);
  return {
    reason: info?.reason || statusName(error.code),
    domain: info?.domain ?? "",
    code: (info && codeOf(info)) ?? error.code,
    message: error.rawMessage,
    metadata: info?.metadata ?? {},
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => ({ field, description })),
    retryAfterMs: retryAfterMs(error),
    unreached: unreached.has(error),
  };
}

/** The error of a call for which no connection came about. */
export function unreachedError(message: string, cause?: unknown): ConnectError {
  const error = new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
  unreached.add(error);
  return error;
}

const unreached = new WeakSet<ConnectError>();

/** A2A's own, where several are given. */
function errorInfo(error: ConnectError): ErrorInfo | undefined {
  const infos = error.findDetails(ErrorInfoSchema);
  return infos.find(({ domain }) => domain === A2A_DOMAIN) ?? infos[0];
}

function codeOf({ reason, domain }: ErrorInfo): Code | undefined {
  const known = knownReason(reason);
  return domain === "" || domain === known?.domain ? known?.code : undefined;
}

/** RetryInfo is finer than the header, which has seconds or a date. */
function retryAfterMs(error: ConnectError): number | undefined {
  const [delay] = error.findDetails(RetryInfoSchema).flatMap(({ retryDelay }) => retryDelay ?? []);
  if (delay !== undefined) return Math.max(0, Number(delay.seconds) * 1000 + Math.ceil(delay.nanos / 1_000_000));
  const header = error.metadata.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = header === "" ? Number.NaN : Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
