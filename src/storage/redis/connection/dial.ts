import { Redis } from "ioredis";
import type { Reply } from "./reply.ts";
import { RedisReplyError } from "./store-error.ts";
import { type Address, formatAddress } from "./url.ts";
import { Wire, destroyClient } from "./wire.ts";

/** How every connection of a store is made. */
export interface DialOptions {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  /** PEM texts; undefined without TLS. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer } | undefined;
  readonly commandTimeoutMs: number;
}

/**
 * Why a connection could not be made. `wait`: it may well succeed in a moment (starting, failing over); `refused`: nobody listens;
 * `setup`: it will not succeed until somebody changes something.
 */
export class DialError extends Error {
  override readonly name = "DialError";
  readonly kind: "wait" | "refused" | "setup";

  constructor(kind: DialError["kind"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The `field:value` lines of INFO. */
export type Info = ReadonlyMap<string, string>;

/** A connection that is ready for use, and what its server said of itself. */
export interface Dialed {
  readonly wire: Wire;
  readonly address: Address;
  readonly info: Info;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
}

/** What one connection is for. */
export interface DialUse {
  /** Ends the attempt. */
  readonly signal?: AbortSignal;
  /** How long a reply may take on it. @default commandTimeoutMs */
  readonly replyTimeoutMs?: number;
  /** A replica will do. @default false */
  readonly anyRole?: boolean;
}

/** No more than this for TCP, TLS and the first replies together. */
const DIAL_TIMEOUT_MS = 2000;

const PING_INTERVAL_MS = 2000;

/** Connects, signs in, selects the database, and sees that the server is a master that has loaded its data. Throws DialError. */
export async function dial(address: Address, options: DialOptions, use: DialUse = {}): Promise<Dialed> {
  const { wire, closed, failure } = await connect(address, options, use);
  try {
    const info = await signIn(wire, address, options);
    if (use.anyRole !== true) requireMaster(info, address);
    return { wire, address, info, closed };
  } catch (error) {
    wire.destroy();
    const cause = failure();
    // What broke the connection says more than which command it broke; TLS 1.3 tells of a missing certificate only now.
    throw cause === undefined ? error : connectError(address, cause);
  }
}

/** A bare connection: neither signed in nor looked at. Throws DialError. */
export async function connect(
  address: Address,
  { tls, commandTimeoutMs }: Pick<DialOptions, "tls" | "commandTimeoutMs">,
  { signal, replyTimeoutMs = commandTimeoutMs }: DialUse,
): Promise<{ readonly wire: Wire; readonly closed: Promise<void>; readonly failure: () => Error | undefined }> {
  if (signal?.aborted === true) throw new DialError("wait", `${formatAddress(address)} was not called: closing`);
  // Of ioredis's many services only the protocol is used: signing in, reconnecting and time limits are ours, so that each of them is seen.
  const redis = new Redis({
    host: address.host,
    port: address.port,
    ...(tls === undefined ? {} : { tls }),
    protocol: 2,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true,
    connectTimeout: DIAL_TIMEOUT_MS,
    disconnectTimeout: 0,
    keepAlive: 10_000,
  });
  let cause: Error | undefined;
  redis.on("error", (error: Error) => (cause ??= error));
  const closed = new Promise<void>((resolve) => void redis.once("end", resolve));
  // TLS may hang after TCP has connected, which ioredis's own limit does not cover.
  const giveUp = (): void => destroyClient(redis);
  const deadline = setTimeout(giveUp, DIAL_TIMEOUT_MS);
  signal?.addEventListener("abort", giveUp);
  try {
    await redis.connect();
  } catch (error) {
    destroyClient(redis);
    throw connectError(address, cause ?? error);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener("abort", giveUp);
  }
  return { wire: new Wire(redis, replyTimeoutMs, PING_INTERVAL_MS), closed, failure: () => cause };
}

async function signIn(wire: Wire, address: Address, { username, password, db }: DialOptions): Promise<Info> {
  const at = formatAddress(address);
  if (password !== undefined) {
    await attempt(wire, at, "AUTH", username === undefined ? [password] : [username, password], (reply) =>
      reply.code === "WRONGPASS" ? `${at} refuses this user or password (${reply.message})` : `${at} refuses to sign in (${reply.message})`,
    );
  }
  if (db !== 0) await attempt(wire, at, "SELECT", [db], (reply) => `${at} has no database ${db} for this user (${reply.message})`);
  const info = await attempt(wire, at, "INFO", [], (reply) =>
    reply.code === "NOAUTH"
      ? `${at} asks for a password`
      : `${at} does not answer INFO, which this user needs (grant +info): ${reply.message}`,
  );
  // A name in CLIENT LIST helps operators; a user without that right loses only the name.
  wire.send("CLIENT", ["SETNAME", "throughline"]).catch(() => undefined);
  return parseInfo(info);
}

async function attempt(
  wire: Wire,
  at: string,
  command: string,
  args: readonly (string | number)[],
  describe: (reply: { readonly code: string; readonly message: string }) => string,
): Promise<Reply> {
  try {
    return await wire.send(command, args);
  } catch (error) {
    if (error instanceof RedisReplyError) throw new DialError("setup", describe(error), { cause: error });
    const cause = error instanceof Error ? error.cause : undefined;
    const message = cause instanceof Error ? cause.message : "";
    if (message.startsWith("NOAUTH")) throw new DialError("setup", describe({ code: "NOAUTH", message }), { cause: error });
    throw new DialError("wait", `${at} does not answer ${command}${message === "" ? "" : ` (${message})`}`, { cause: error });
  }
}

function requireMaster(info: Info, address: Address): void {
  const at = formatAddress(address);
  if (info.get("loading") === "1") throw new DialError("wait", `${at} is still loading its data`);
  const role = info.get("role");
  if (role !== undefined && role !== "master")
    throw new DialError("wait", `${at} is a ${role === "slave" ? "replica" : role}, not a master`);
}

function parseInfo(reply: Reply): Info {
  const text = Buffer.isBuffer(reply) ? reply.toString() : String(reply);
  return new Map(
    text
      .split("\r\n")
      .map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)])
      .filter(([field]) => field !== "" && !field.startsWith("#")),
  );
}

function connectError(address: Address, cause: unknown): DialError {
  const at = formatAddress(address);
  const { code = "", message } = cause as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") return new DialError("refused", `nobody listens at ${at}`, { cause });
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new DialError("refused", `the host name of ${at} is not known (${code})`, { cause });
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|ERR_OSSL)/.test(code)) {
    return new DialError("setup", `TLS with ${at} failed: ${message} (${code})`, { cause });
  }
  return new DialError("wait", `${at} cannot be reached (${code === "" ? message : code})`, { cause });
}
