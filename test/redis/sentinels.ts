/** A real master with replicas, watched by real sentinels. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RedisServer, redisServer, startOnFreePort } from "./redis-server.ts";
import { endAll, startAll } from "./start-all.ts";
import { until } from "./until.ts";

/** The name under which the sentinels watch the master. */
export const MASTER_NAME = "mymaster";

const READY_MS = 60_000;
/** A sentinel whose machine stood still for two seconds does nothing for thirty (TILT), and that may come twice. */
const FAILOVER_MS = 90_000;

export interface RedisSentinelsOptions {
  /** Default: 3; a majority of them agrees on a failover. */
  readonly sentinels?: number;
  /** Default: 1. */
  readonly replicas?: number;
  /** More of the command line of the master and the replicas. */
  readonly args?: readonly string[];
  /** Of the master and the replicas; the sentinels themselves have none. */
  readonly password?: string;
  /** As of a single server. */
  readonly appendonly?: "always";
  /** After how long without an answer a sentinel takes the master for down. Default: 500. */
  readonly downAfterMs?: number;
  /** A failover that takes longer is given up; the next one of the same master begins no sooner than twice this. Default: 2000. */
  readonly failoverTimeoutMs?: number;
}

/** Starts them all; resolves when the replicas follow and every sentinel knows every replica and every other sentinel. */
export async function redisSentinels(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  const { sentinels: count = 3, replicas: replicaCount = 1 } = options;
  await using started = new AsyncDisposableStack();
  const master = started.use(await startServer(options));
  const replicas = await startAll(
    Array.from({ length: replicaCount }, async () => startServer(options, ["--replicaof", "127.0.0.1", `${master.port}`])),
  );
  for (const replica of replicas) started.use(replica);
  // A sentinel asks its master for replicas at once, and again after ten seconds only.
  await until("replicas follow", READY_MS, async () =>
    (await Promise.all(replicas.map(async (one) => follows(one, master)))).every(Boolean),
  );
  const sentinels = await startAll(Array.from({ length: count }, async () => startSentinel(options, master.port)));
  for (const sentinel of sentinels) started.use(sentinel);
  await until("sentinels know each other", READY_MS, async () => {
    const views = await Promise.all(sentinels.map(masterView));
    return views.every((view) => view["num-slaves"] === `${replicaCount}` && view["num-other-sentinels"] === `${count - 1}`);
  });
  started.move();
  return new RedisSentinels([master, ...replicas], sentinels);
}

async function startServer(options: RedisSentinelsOptions, more: readonly string[] = []): Promise<RedisServer> {
  const { args = [], password, appendonly } = options;
  return redisServer({
    args: ["--repl-diskless-sync-delay", "0", ...more, ...args],
    ...(password === undefined ? {} : { password }),
    ...(appendonly === undefined ? {} : { appendonly }),
  });
}

async function startSentinel(options: RedisSentinelsOptions, masterPort: number): Promise<RedisServer> {
  const { sentinels: count = 3, password, downAfterMs = 500, failoverTimeoutMs = 2000 } = options;
  return startOnFreePort({}, (port, dir) => {
    const file = join(dir, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${dir}`,
      "loglevel warning",
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} ${Math.floor(count / 2) + 1}`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfterMs}`,
      `sentinel failover-timeout ${MASTER_NAME} ${failoverTimeoutMs}`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${MASTER_NAME} ${JSON.stringify(password)}`]),
    ];
    // A sentinel keeps what it learns in this file, so that it can be started again.
    writeFileSync(file, `${lines.join("\n")}\n`);
    return [file, "--sentinel"];
  });
}

async function masterView(sentinel: RedisServer): Promise<Record<string, string>> {
  const flat = (await sentinel.call("SENTINEL", "MASTER", MASTER_NAME)) as string[];
  return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? "", flat[2 * index + 1] ?? ""]));
}

async function follows(replica: RedisServer, master: RedisServer): Promise<boolean> {
  const replication = String(await replica.call("INFO", "replication"));
  return replication.includes("master_link_status:up") && replication.includes(`master_port:${master.port}\r\n`);
}

export class RedisSentinels implements AsyncDisposable {
  /** The master at first and its replicas; who is master now, {@link master} tells. */
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  /** `redis+sentinel://127.0.0.1:<port>,…/mymaster`, with the servers' password where there is one. */
  readonly url: string;

  /** Of processes that know each other already; tests call {@link redisSentinels}. */
  constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.servers = servers;
    this.sentinels = sentinels;
    const auth = /\/\/(.*@)?/.exec(servers[0]?.url ?? "")?.[1] ?? "";
    this.url = `redis+sentinel://${auth}${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/${MASTER_NAME}`;
  }

  /** The running server that all running sentinels name as the master and that is one; waits for that. */
  async master(): Promise<RedisServer> {
    return until("sentinels agree on a running master", FAILOVER_MS, async () => {
      const running = this.sentinels.filter((sentinel) => sentinel.running);
      const [port, ...others] = new Set(await Promise.all(running.map(async (sentinel) => Number((await masterView(sentinel))["port"]))));
      const master = this.servers.find((server) => server.running && server.port === port);
      if (master === undefined || others.length > 0) return undefined;
      return String(await master.call("INFO", "replication")).includes("role:master") && master;
    });
  }

  /** SIGKILL for the master; resolves with it when every sentinel names another. */
  async failover(): Promise<RedisServer> {
    const old = await this.master();
    await old.kill();
    await this.master();
    return old;
  }

  /**
   * Starts a server that was killed, as a replica of the present master; resolves when it follows, or is master again by
   * a failover meanwhile. Sentinels left to themselves would
   * correct an old master that comes back as one, but only after eight seconds in which it has answered each of their pings in time.
   */
  async restart(old: RedisServer): Promise<void> {
    await old.start();
    await until("the old master follows the new one", FAILOVER_MS, async () => {
      const master = await this.master();
      if (master === old || (await follows(old, master))) return true;
      // Again where the sentinels have named another meanwhile.
      await old.call("REPLICAOF", "127.0.0.1", master.port);
      return false;
    });
  }

  /** Kills all of them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await endAll([...this.sentinels, ...this.servers]);
  }
}
