/** The run's Redis: one server, a master with sentinels, or a Cluster, each with what can happen to it. */
import { setTimeout as delay } from "node:timers/promises";
import { ShardKeys } from "../../src/storage/redis/keys.ts";
import { redisCluster } from "../redis/redis-cluster.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { MASTER_NAME, redisSentinels } from "../redis/sentinels.ts";
import { until } from "../redis/until.ts";
import { AOF_ARGS, AofArchive, readAof } from "./aof.ts";
import { lag } from "./failovers.ts";
import { type Ask, PREFIX, readCustody, readLog, SHARDS } from "./redis-logs.ts";
import type { Random } from "./random.ts";
import type { ChaosStore, Fault, Loss, Losses } from "./store.ts";

/** Whether failovers may lose what was stored (durability local). */
export interface StoreOptions {
  readonly lossy: boolean;
}

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
const SWITCH_MS = 60_000;
/** The fault that loses what was stored. */
export const LAGGING = "lagging replica promoted";

/** One server, whose every write is on its disk before it is answered: it may be killed. */
export async function singleRedis(): Promise<RedisStore> {
  const server = await redisServer({ appendonly: "always", args: AOF_ARGS });
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
    archive: () => readAof(server.dir),
    ...reader((command, ...args) => server.binary(command, ...args)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A master and two replicas, watched by three sentinels. */
export async function sentinelRedis({ lossy }: StoreOptions): Promise<RedisStore> {
  const sentinels = await redisSentinels({ appendonly: "always", replicas: 2, args: AOF_ARGS });
  const back = async (old: RedisServer, random: Random): Promise<void> => {
    await delay(random.between(...AWAY_MS));
    await sentinels.restart(old);
  };
  const losses = lossesOf(sentinels.servers);
  const losing: Record<string, Fault> = {
    [LAGGING]: async (random) => {
      const old = await sentinels.master();
      losses.add(await lag(old, sentinels.servers, () => sentinels.failover(), random));
      await back(old, random);
    },
  };
  return {
    url: sentinels.url,
    port: undefined,
    faults: {
      "master killed": async (random) => {
        await back(await sentinels.failover(), random);
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
      ...(lossy ? losing : {}),
    },
    ...(lossy ? { losses: losses.all } : {}),
    ...reader(async (command, ...args) => (await sentinels.master()).binary(command, ...args)),
    [Symbol.asyncDispose]: () => {
      losses.end();
      return sentinels[Symbol.asyncDispose]();
    },
  };
}

/** Keeps what servers have had. */
function lossesOf(servers: readonly RedisServer[]) {
  const archive = new AofArchive(servers.map(({ dir }) => dir));
  const planned: Loss[] = [];
  return {
    add: (loss: Loss | undefined): void => void (loss === undefined || planned.push(loss)),
    all: (): Losses => ({ planned, histories: archive.histories() }),
    end: (): void => archive[Symbol.dispose](),
  };
}

/** Three masters, each with a replica. */
export async function clusterRedis({ lossy }: StoreOptions): Promise<RedisStore> {
  const cluster = await redisCluster({ appendonly: "always", args: AOF_ARGS });
  const client = cluster.client();
  const drawn = (random: Random): Promise<number> => cluster.slotOf(new ShardKeys(PREFIX, random.between(0, SHARDS - 1)).tag);
  const back = async (old: RedisServer, random: Random): Promise<void> => {
    await delay(random.between(...AWAY_MS));
    await cluster.restartNode(old);
  };
  const losses = lossesOf(cluster.nodes);
  const losing: Record<string, Fault> = {
    [LAGGING]: async (random) => {
      const slot = await drawn(random);
      const old = await cluster.masterOf(slot);
      losses.add(await lag(old, cluster.nodes, () => cluster.killMaster(slot), random));
      await back(old, random);
    },
  };
  return {
    url: cluster.url,
    port: undefined,
    faults: {
      "node killed": async (random) => back(await cluster.killMaster(await drawn(random)), random),
      ...(lossy ? losing : {}),
    },
    ...(lossy ? { losses: losses.all } : {}),
    ...reader((command, ...args) => client.callBuffer(command, ...args)),
    [Symbol.asyncDispose]: () => {
      losses.end();
      return cluster[Symbol.asyncDispose]();
    },
  };
}

function reader(ask: Ask): Pick<ChaosStore, "logOf" | "custodyOf"> {
  return { logOf: (taskId) => readLog(ask, taskId), custodyOf: (taskId) => readCustody(ask, taskId) };
}
