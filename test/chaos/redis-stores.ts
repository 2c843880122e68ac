/** The run's Redis: one server, a master with sentinels, or a Cluster, each with what can happen to it. */
import { setTimeout as delay } from "node:timers/promises";
import { ShardKeys } from "../../src/storage/redis/keys.ts";
import { redisCluster } from "../redis/redis-cluster.ts";
import { redisServer } from "../redis/redis-server.ts";
import { MASTER_NAME, redisSentinels } from "../redis/sentinels.ts";
import { until } from "../redis/until.ts";
import { type Ask, PREFIX, readCustody, readLog, SHARDS } from "./redis-logs.ts";
import type { ChaosStore, Fault } from "./store.ts";

/** A Redis of the run. */
export interface RedisStore extends ChaosStore {
  /** What replicas are told to connect to. */
  readonly url: string;
  /** The port of the one server, where a proxy may stand before it: other kinds tell their clients addresses themselves. */
  readonly port: number | undefined;
}

/** How long a server is away. */
const AWAY_MS: readonly [number, number] = [100, 2500];
/** How long one stands still. */
const STILL_MS: readonly [number, number] = [500, 2500];
const SWITCH_MS = 20_000;

/** One server, whose every write is on its disk before it is answered: it may be killed. */
export async function singleRedis(): Promise<RedisStore> {
  const server = await redisServer({ appendonly: "always" });
  const backAfter =
    (end: () => Promise<void>): Fault =>
    async (random) => {
      await end();
      await delay(random.between(...AWAY_MS));
      await server.start();
    };
  return {
    url: server.url,
    port: server.port,
    faults: {
      "redis shut down": backAfter(() => server.shutdown()),
      "redis killed": backAfter(() => server.kill()),
      "redis stopped": async (random) => {
        server.pause();
        await delay(random.between(...STILL_MS));
        server.resume();
      },
    },
    ...reader((command, ...args) => server.binary(command, ...args)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A master and two replicas, watched by three sentinels. */
export async function sentinelRedis(): Promise<RedisStore> {
  const sentinels = await redisSentinels({ appendonly: "always", replicas: 2 });
  return {
    url: sentinels.url,
    port: undefined,
    faults: {
      "master killed": async (random) => {
        const old = await sentinels.failover();
        await delay(random.between(...AWAY_MS));
        await sentinels.restart(old, { atOnce: true });
      },
      "failover asked for": async () => {
        const old = await sentinels.master();
        const [asked] = sentinels.sentinels;
        await until(
          "the sentinels begin a failover",
          SWITCH_MS,
          async () => (await asked?.call("SENTINEL", "FAILOVER", MASTER_NAME)) === "OK",
        );
        await until("there is another master", SWITCH_MS, async () => (await sentinels.master()) !== old);
      },
    },
    ...reader(async (command, ...args) => (await sentinels.master()).binary(command, ...args)),
    [Symbol.asyncDispose]: () => sentinels[Symbol.asyncDispose](),
  };
}

/** Three masters, each with a replica. */
export async function clusterRedis(): Promise<RedisStore> {
  const cluster = await redisCluster({ appendonly: "always" });
  const client = cluster.client();
  return {
    url: cluster.url,
    port: undefined,
    faults: {
      "node killed": async (random) => {
        const { tag } = new ShardKeys(PREFIX, random.between(0, SHARDS - 1));
        const old = await cluster.killMaster(await cluster.slotOf(tag));
        await delay(random.between(...AWAY_MS));
        await cluster.restartNode(old);
      },
    },
    ...reader((command, ...args) => client.callBuffer(command, ...args)),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

function reader(ask: Ask): Pick<ChaosStore, "logOf" | "custodyOf"> {
  return { logOf: (taskId) => readLog(ask, taskId), custodyOf: (taskId) => readCustody(ask, taskId) };
}
