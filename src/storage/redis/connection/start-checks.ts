/**
 * What is looked at before the store is used. The rights an ACL user needs for the connections, with the prefix `throughline`:
 *
 *     ~{throughline:* ~{throughline}:config &{throughline:*
 *     +info +ping +eval +evalsha +hsetnx +hmget +publish +subscribe +unsubscribe
 *     Cluster: +cluster|slots (and +asking, which is not looked for: it spares repeats while slots move), and +spublish +ssubscribe +sunsubscribe instead of the three without s
 *     a database other than 0: +select · durability replicated: +wait · fsync: +config|get, and +waitaof without `appendfsync always`
 *     +client|setname shows the connections as `throughline` in CLIENT LIST and may be left out
 *
 * The commands that the scripts call come on top: `+@read +@write +time -@dangerous` (before `+info`) covers them. Sentinels are asked without
 * signing in, and with the same user where they want one: `+sentinel|get-master-addr-by-name +ping`.
 */
import { createHash, randomUUID } from "node:crypto";
import { type DialOptions, type Dialed, DialError, type Info, dial } from "./dial.ts";
import type { RedisOptions } from "./redis-options.ts";
import type { Arg, Reply } from "./reply.ts";
import { RedisReplyError, StoreSetupError } from "./store-error.ts";
import { type RedisUrl, formatAddress } from "./url.ts";
import type { Wire } from "./wire.ts";

const SCHEME = { standalone: "redis://", cluster: "redis+cluster://", sentinel: "redis+sentinel://" };

const PROBE = "return #KEYS";

/** Sees that the options make sense by themselves. Throws StoreSetupError. */
export function checkOptions({ prefix, shards, replicas, commandTimeoutMs, durability }: RedisOptions): void {
  if (prefix === "" || /[{}]/.test(prefix))
    throw new StoreSetupError(`redis.prefix: must be non-empty and without braces, not ${JSON.stringify(prefix)}`);
  if (!Number.isInteger(shards) || shards < 1 || shards > 256) throw new StoreSetupError(`redis.shards: must be 1 to 256, not ${shards}`);
  if (!(commandTimeoutMs >= 10)) throw new StoreSetupError(`redis.commandTimeoutMs: must be 10 or more, not ${commandTimeoutMs}`);
  if (durability === "replicated" && !(Number.isInteger(replicas) && replicas >= 1)) {
    throw new StoreSetupError(`redis.replicas: must be 1 or more, not ${replicas}`);
  }
}

/** Sees that the server is recent enough and of the kind that the URL says. Throws StoreSetupError. */
export function checkServer({ info, address }: Dialed, url: RedisUrl): void {
  const at = formatAddress(address);
  const { product, version } = productOf(info);
  if (!atLeast(version, product === "Valkey" ? [7, 2] : [7, 0])) {
    throw new StoreSetupError(`redis.url: ${at} is ${product} ${version}; Redis 7.0 or Valkey 7.2 and later are needed`);
  }
  const mode = (info.get("redis_mode") ?? "standalone") as keyof typeof SCHEME;
  const expected = url.kind === "cluster" ? "cluster" : "standalone";
  if (mode !== expected) {
    const tls = url.tls ? SCHEME[mode].replace("redis", "rediss") : SCHEME[mode];
    throw new StoreSetupError(`redis.url: ${at} runs in ${mode} mode; use ${tls}`);
  }
}

/** Sees that a master lets this user do what the store needs, on keys and channels under `tag`. Throws StoreSetupError. */
export async function checkMaster(
  dialed: Dialed,
  options: DialOptions,
  kind: RedisUrl["kind"],
  tag: string,
  warn: (message: string) => void,
): Promise<void> {
  const { wire, info, address } = dialed;
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    warn(
      `redis: maxmemory-policy of ${formatAddress(address)} is ${policy}: Redis may delete tasks when memory is short; noeviction is needed`,
    );
  }
  await checkScripts(wire, tag);
  await checkChannels(dialed, options, kind, tag);
}

async function checkScripts(wire: Wire, tag: string): Promise<void> {
  const key = `${tag}:check`;
  const sha = createHash("sha1").update(PROBE).digest("hex");
  await permitted(wire, "EVALSHA", [sha, 1, key], `may not run scripts on the keys ${tag}:*`, `+evalsha and ~${wildcard(tag)}`, "NOSCRIPT");
  await permitted(wire, "EVAL", [PROBE, 1, key], `may not run scripts on the keys ${tag}:*`, `+eval and ~${wildcard(tag)}`);
}

async function checkChannels({ wire, address }: Dialed, options: DialOptions, kind: RedisUrl["kind"], tag: string): Promise<void> {
  const channel = `${tag}:check:${randomUUID()}`;
  const [subscribe, publish] = kind === "cluster" ? ["ssubscribe", "SPUBLISH"] : ["subscribe", "PUBLISH"];
  const grant = (command: string): string => `+${command.toLowerCase()} and &${wildcard(tag)}`;
  const subscriber = await dial(address, options, { anyRole: true });
  try {
    await permitted(subscriber.wire, subscribe, [channel], `may not subscribe to channels ${tag}:*`, grant(subscribe));
    await permitted(
      subscriber.wire,
      `${subscribe === "subscribe" ? "" : "s"}unsubscribe`,
      [channel],
      "may not unsubscribe",
      grant("unsubscribe"),
    );
    await permitted(wire, publish, [channel, ""], `may not publish to channels ${tag}:*`, grant(publish));
  } finally {
    subscriber.wire.destroy();
  }
}

/** The hash tag of what belongs to no shard. */
export function configTag(prefix: string): string {
  return `{${prefix}}`;
}

/** Writes `shards` and the agent's name at the first start and compares them at every later one. Throws StoreSetupError. */
export async function checkConfig(
  send: (name: string, args: readonly Arg[]) => Promise<Reply>,
  { prefix, shards }: RedisOptions,
  agent: string,
): Promise<void> {
  const key = `${configTag(prefix)}:config`;
  for (const [field, value] of [
    ["shards", String(shards)],
    ["agent", agent],
  ] as const) {
    await allowed(() => send("HSETNX", [key, field, value]), `may not write the key ${key}`, `+hsetnx and ~${key}`);
  }
  const reply = await allowed(() => send("HMGET", [key, "shards", "agent"]), `may not read the key ${key}`, `+hmget and ~${key}`);
  const [storedShards, storedAgent] = (reply as readonly Reply[]).map(String);
  if (storedShards !== String(shards)) {
    throw new StoreSetupError(
      `redis.shards: ${shards}, but the data under the prefix ${prefix} was written with ${storedShards}; it cannot be changed: use ${storedShards} or another redis.prefix`,
    );
  }
  if (storedAgent !== agent) {
    throw new StoreSetupError(
      `redis.prefix: the data under ${prefix} belongs to the agent ${JSON.stringify(storedAgent)}, not ${JSON.stringify(agent)}; use another redis.prefix`,
    );
  }
}

/** Product and version of a server; Valkey says the Redis version it is compatible with, and its own beside it. */
export function productOf(info: Info): { readonly product: "Redis" | "Valkey"; readonly version: string } {
  const valkey = info.get("valkey_version");
  return valkey === undefined
    ? { product: "Redis", version: info.get("redis_version") ?? "unknown" }
    : { product: "Valkey", version: valkey };
}

/** Whether a version like `7.2.4` is at least `[7, 2]`. */
export function atLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [first = Number.NaN, second = 0] = version.split(".").map(Number);
  return first > major || (first === major && second >= minor);
}

function permitted(wire: Wire, name: string, args: readonly Arg[], problem: string, grant: string, fine?: string): Promise<Reply> {
  return allowed(() => wire.send(name, args), problem, grant, fine);
}

/** Turns a missing right into a StoreSetupError that names it; everything else that goes wrong is said as it is. */
async function allowed(send: () => Promise<Reply>, problem: string, grant: string, fine?: string): Promise<Reply> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof RedisReplyError)) {
      const reason = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
      throw new DialError("wait", `the server does not carry out the start checks${reason}`, { cause: error });
    }
    if (error.code === fine) return null;
    if (error.code !== "NOPERM") throw new StoreSetupError(`redis.url: the start checks failed: ${error.message}`, { cause: error });
    throw new StoreSetupError(`redis.url: the ACL user ${problem} (${error.message}); grant ${grant}`, { cause: error });
  }
}

/** `{throughline:0}` → `{throughline:*`, the pattern that covers every shard. */
function wildcard(tag: string): string {
  return tag.replace(/:[^:]*\}$/, ":*");
}
