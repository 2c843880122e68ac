import { StoreSetupError } from "./store-error.ts";

/** A host and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a Redis URL says. */
export interface RedisUrl {
  readonly kind: "single" | "sentinel" | "cluster";
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The server; of a Sentinel URL the sentinels, of a Cluster URL some of its nodes. */
  readonly hosts: readonly [Address, ...Address[]];
  /** The name of the master that the sentinels watch. */
  readonly master: string | undefined;
  readonly db: number;
}

const FORMS =
  "redis://[user:password@]host:port[/db], redis+cluster://[user:password@]host:port,host:port or " +
  "redis+sentinel://[user:password@]host:port,host:port/master[/db] (rediss for TLS)";

const URL_PARTS = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^/?#@]+)(?:\/([^?#]*))?$/;

const DEFAULT_PORT = { single: 6379, cluster: 6379, sentinel: 26379 };

/** Reads a Redis URL. Throws StoreSetupError, which never repeats the URL: it may hold a password. */
export function parseRedisUrl(url: string): RedisUrl {
  const match = URL_PARTS.exec(url);
  if (match === null) throw bad(`expected ${FORMS}`);
  const [, scheme, topology = "single", userInfo, authority = "", path = ""] = match;
  const kind = topology as RedisUrl["kind"];
  const [first, ...others] = authority.split(",").map((host) => parseAddress(host, DEFAULT_PORT[kind]));
  if (first === undefined) throw bad("a host is needed");
  if (kind === "single" && others.length > 0) {
    throw bad("redis:// names one host; several belong in redis+cluster:// or redis+sentinel://");
  }
  const segments = path === "" ? [] : path.split("/");
  const master = kind === "sentinel" ? decode(segments.shift() ?? "") : undefined;
  if (master === "") throw bad("redis+sentinel:// needs the master's name: redis+sentinel://host:port/master");
  const [db = "", ...rest] = segments;
  if (rest.length > 0) throw bad(`too many path segments; expected ${FORMS}`);
  if (kind === "cluster" && db !== "") throw bad("a Cluster has no database numbers; leave /" + db + " out");
  if (!/^\d{0,9}$/.test(db)) throw bad(`the database must be a number, not ${JSON.stringify(db)}`);
  return { kind, tls: scheme === "rediss", ...credentials(userInfo), hosts: [first, ...others], master, db: Number(db) };
}

/** `host:port`, IPv6 in brackets, as an operator writes it. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseAddress(text: string, defaultPort: number): Address {
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (host === undefined || port < 1 || port > 65_535) throw bad(`${JSON.stringify(text)} is no host:port`);
  return { host, port };
}

function credentials(userInfo: string | undefined): Pick<RedisUrl, "username" | "password"> {
  if (userInfo === undefined) return { username: undefined, password: undefined };
  const colon = userInfo.indexOf(":");
  const username = colon === -1 ? userInfo : userInfo.slice(0, colon);
  const password = colon === -1 ? "" : userInfo.slice(colon + 1);
  if (password === "") throw bad("a user needs a password: user:password@host, or :password@host for the default user");
  return { username: username === "" ? undefined : decode(username), password: decode(password) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw bad("user, password and master name must be percent-encoded (% is %25, @ is %40, / is %2F)", cause);
  }
}

function bad(message: string, cause?: unknown): StoreSetupError {
  return new StoreSetupError(`redis.url: ${message}`, cause === undefined ? undefined : { cause });
}
