/** What a running service holds: its replicas' processes, and Redis. */
import { readdirSync } from "node:fs";
import { send } from "../bindings/bed.ts";
import type { ReplicaProcess } from "../e2e/replica-process.ts";
import type { RedisServer } from "../redis/redis-server.ts";

/** Figures by their names, such as `a heap MB`. */
export type Sample = Readonly<Record<string, number>>;

const MB = 1024 * 1024;

/** Measures everything once. */
export async function measure(redis: RedisServer, replicas: Readonly<Record<string, ReplicaProcess>>): Promise<Sample> {
  const each = await Promise.all(Object.entries(replicas).map(([name, replica]) => ofReplica(name, replica)));
  return Object.assign({}, ...each, await ofRedis(redis)) as Sample;
}

/** By a turn of the replica itself: it alone can collect its garbage. */
async function ofReplica(name: string, { grpc, server }: ReplicaProcess): Promise<Sample> {
  const { pid } = server.process.child;
  for (;;) {
    const { message } = await grpc.unary("SendMessage", send("figures"));
    const { artifacts } = message["task"] as { artifacts: { parts: { text: string }[] }[] };
    const told = JSON.parse(artifacts[0]?.parts[0]?.text ?? "{}") as Record<"pid" | "rss" | "heap" | "handles" | "timers", number>;
    // Where it had no room for a turn, the other one ran it.
    if (told.pid !== pid) continue;
    return {
      [`${name} rss MB`]: told.rss / MB,
      [`${name} heap MB`]: told.heap / MB,
      [`${name} handles`]: told.handles,
      [`${name} timers`]: told.timers,
      [`${name} files`]: readdirSync(`/proc/${pid}/fd`).length,
    };
  }
}

async function ofRedis(redis: RedisServer): Promise<Sample> {
  const [keys, info, channels] = await Promise.all([redis.call("DBSIZE"), redis.call("INFO"), redis.call("PUBSUB", "CHANNELS")]);
  const fact = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(String(info))?.[1]);
  return {
    "redis MB": fact("used_memory") / MB,
    "redis keys": Number(keys),
    "redis connections": fact("connected_clients"),
    "redis channels": (channels as unknown[]).length,
  };
}
