import type { Confirmation } from "./confirm.ts";
import type { Dialed } from "./dial.ts";
import type { RedisOptions } from "./redis-options.ts";
import type { Reply } from "./reply.ts";
import { atLeast, productOf } from "./start-checks.ts";
import { RedisReplyError, StoreSetupError } from "./store-error.ts";
import { formatAddress } from "./url.ts";

/** WAITAOF waits for the next fsync, which `appendfsync everysec` may put off for two seconds. */
const SHORTEST_WAITAOF_MS = 2500;

/** How writes are confirmed on this server; undefined where the reply is enough. Throws StoreSetupError where it cannot keep the promise. */
export async function planConfirmation(
  dialed: Dialed,
  options: RedisOptions,
  warn: (message: string) => void,
): Promise<Confirmation | undefined> {
  const { durability, replicas, commandTimeoutMs } = options;
  if (durability === "local") return undefined;
  if (durability === "replicated") {
    const connected = Number(dialed.info.get("connected_slaves") ?? 0);
    if (connected < replicas) {
      warn(
        `redis: ${formatAddress(dialed.address)} has ${connected} replicas, redis.replicas asks for ${replicas}: nothing can be stored until they are there`,
      );
    }
    return { command: "WAIT", replicas, timeoutMs: commandTimeoutMs };
  }
  return await planFsync(dialed, Math.max(commandTimeoutMs, SHORTEST_WAITAOF_MS));
}

async function planFsync(dialed: Dialed, timeoutMs: number): Promise<Confirmation | undefined> {
  const at = formatAddress(dialed.address);
  if (dialed.info.get("aof_enabled") === "0") {
    throw new StoreSetupError(`redis.durability: fsync needs "appendonly yes" on ${at}`);
  }
  const policy = await appendFsync(dialed);
  if (policy === "always") return undefined;
  const { product, version } = productOf(dialed.info);
  if (atLeast(version, [7, 2]) && policy !== "no") return { command: "WAITAOF", replicas: 0, timeoutMs };
  const found = policy === undefined ? "CONFIG GET is refused (grant +config|get)" : `it is ${JSON.stringify(policy)}`;
  throw new StoreSetupError(
    `redis.durability: fsync needs "appendfsync always" on ${at}, or "everysec" with Redis 7.2 or later; ${found} and the server is ${product} ${version}`,
  );
}

/** The server's appendfsync; undefined where it does not tell. */
async function appendFsync({ wire }: Dialed): Promise<string | undefined> {
  let reply: Reply;
  try {
    reply = await wire.send("CONFIG", ["GET", "appendfsync"]);
  } catch (error) {
    if (error instanceof RedisReplyError) return undefined;
    throw error;
  }
  return Array.isArray(reply) ? String(reply[1]) : undefined;
}
