import { ReplyError } from "ioredis";
import { TaskError } from "../../../core/errors.ts";

/** Redis is set up so that this program cannot use it. The message begins with the option it is about and is fit for an operator. */
export class StoreSetupError extends Error {
  override readonly name = "StoreSetupError";
}

/** An error reply that trying again does not cure: a bug of a script, or a right that the ACL user lacks. */
export class RedisReplyError extends Error {
  override readonly name = "RedisReplyError";
  /** The first word of the reply: `ERR`, `NOPERM`, `NOSCRIPT`, … */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Replies that say: not here or not now. Nothing was executed; the same command may succeed later. */
const AWAY: ReadonlySet<string> = new Set([
  "ASK",
  "BUSY",
  "CLUSTERDOWN",
  "LOADING",
  "MASTERDOWN",
  "MISCONF",
  "MOVED",
  "NOAUTH",
  "NOREPLICAS",
  "OOM",
  "READONLY",
  "TRYAGAIN",
  "UNBLOCKED",
]);

/** Replies after which the connection is of no more use: the server has changed its role, or forgotten who we are. */
const STALE_CONNECTION: ReadonlySet<string> = new Set(["READONLY", "MASTERDOWN", "NOAUTH", "UNBLOCKED"]);

/** Whether the command that failed with `error` may have been executed: it was written and no reply came, or too few replicas confirmed it. */
export function outcomeUnknown(error: unknown): boolean {
  return error instanceof TaskError && error.outcomeUnknown;
}

/** The store cannot be used now. `outcome: "unknown"` where the command may have been executed all the same. */
export function unavailable(cause: unknown, outcome: "none" | "unknown"): TaskError {
  return new TaskError("STORE_UNAVAILABLE", "the store is not available", {
    cause,
    retryAfterMs: 1000,
    outcomeUnknown: outcome === "unknown",
  });
}

/** The first word of an error reply; undefined where `error` is no reply at all. */
function replyCode(error: unknown): string | undefined {
  if (error instanceof RedisReplyError) return error.code;
  return error instanceof ReplyError ? firstWord((error as Error).message) : undefined;
}

/** Whether the connection that gave this reply should be left. */
export function isStaleConnection(error: unknown): boolean {
  return STALE_CONNECTION.has(replyCode(error) ?? "");
}

/** The error of a command that was written to a connection, as callers get it. */
export function fromSent(error: unknown, command: string): Error {
  const code = replyCode(error);
  if (code === undefined) return unavailable(error, "unknown");
  const reply = error as Error & { command?: unknown };
  // ioredis attaches the arguments: they are contents of users and belong in no log.
  delete reply.command;
  return AWAY.has(code) ? unavailable(reply, "none") : new RedisReplyError(code, `${command}: ${reply.message}`);
}

/** Where a MOVED or an ASK reply points (an empty host means: the host that answered). */
export function redirectOf(error: unknown): { readonly kind: "MOVED" | "ASK"; readonly host: string; readonly port: number } | undefined {
  if (!(error instanceof TaskError) || !(error.cause instanceof Error)) return undefined;
  const match = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(error.cause.message);
  return match === null ? undefined : { kind: match[1] as "MOVED" | "ASK", host: match[2] ?? "", port: Number(match[3]) };
}

/** Whether the reply was of the given kind (`ASK`, `CLUSTERDOWN`, …), seen through the TaskError around it. */
export function isReply(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(replyCode(error instanceof TaskError ? error.cause : error) ?? "");
}

function firstWord(text: string): string {
  const end = text.indexOf(" ");
  return end === -1 ? text : text.slice(0, end);
}
