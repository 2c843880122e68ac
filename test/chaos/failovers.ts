/** Failovers to a server that has not heard of the last writes yet. */
import { setTimeout as delay } from "node:timers/promises";
import type { RedisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { readAof } from "./aof.ts";
import type { Random } from "./random.ts";
import type { Loss } from "./store.ts";

/** How long replication is held back. Sentinels promote no server that has been without its master for five seconds. */
const LAG_MS: readonly [number, number] = [300, 3000];
const ANSWER_MS = 10_000;
/** No server of a run has a password: whoever gives one is refused. */
const WRONG = "wrong";

/** The master is killed while nobody has its last writes. `kill` resolves when another is in its place. */
export async function lag(
  old: RedisServer,
  servers: readonly RedisServer[],
  kill: () => Promise<unknown>,
  random: Random,
): Promise<Loss | undefined> {
  const replicas = await replicasOf(old, servers);
  await Promise.all(replicas.map(holdBack));
  await delay(random.between(...LAG_MS));
  const before = new Map(replicas.map((replica) => [replica, readAof(replica.dir)]));
  const killed = kill();
  // Whoever dies here says so below.
  killed.catch(() => undefined);
  await until("the master is gone", ANSWER_MS, () => Promise.resolve(!old.running));
  // It has no more to give.
  await Promise.all(replicas.map(release));
  await killed;
  const promoted = await until("a replica is the master", ANSWER_MS, () => firstMaster(replicas));
  const kept = before.get(promoted);
  return kept && { had: readAof(old.dir), kept };
}

async function replicasOf(master: RedisServer, servers: readonly RedisServer[]): Promise<RedisServer[]> {
  const others = servers.filter((server) => server.running && server !== master);
  const roles = await Promise.all(others.map((server) => server.call("INFO", "replication")));
  return others.filter((_, index) => String(roles[index]).includes(`master_port:${master.port}\r\n`));
}

/** Ends its replication, and lets none begin. */
async function holdBack(replica: RedisServer): Promise<void> {
  await replica.call("CONFIG", "SET", "masterauth", WRONG);
  await replica.call("CLIENT", "KILL", "TYPE", "master");
}

async function release(replica: RedisServer): Promise<void> {
  await until("a replica may follow again", ANSWER_MS, async () => (await replica.call("CONFIG", "SET", "masterauth", "")) === "OK");
}

async function firstMaster(servers: readonly RedisServer[]): Promise<RedisServer | undefined> {
  for (const server of servers) if (String(await server.call("INFO", "replication")).includes("role:master")) return server;
  return undefined;
}
