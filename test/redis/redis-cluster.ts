/** A real Redis Cluster of the test's own. */
import { Cluster, type ClusterOptions } from "ioredis";
import { epochsAgree, isOnline, nodeLines, ownerPort, SLOTS } from "./cluster-view.ts";
import { freePort } from "./free-port.ts";
import { type RedisServer, redisServer } from "./redis-server.ts";
import { moveSlot, type MoveSlotOptions } from "./slot-migration.ts";
import { endAll, startAll } from "./start-all.ts";
import { until } from "./until.ts";

const FORM_MS = 60_000;
const SETTLE_MS = 60_000;

export interface RedisClusterOptions {
  /** Default: 3, the fewest that can agree on a failover. */
  readonly masters?: number;
  /** Default: 1. */
  readonly replicasPerMaster?: number;
  /** More of every node's command line. */
  readonly args?: readonly string[];
  readonly password?: string;
  /** As of a single server. Without it a node that is restarted before its replica took over comes back empty. */
  readonly appendonly?: "always";
  /** After how long without an answer a node counts as down. Default: 1000. */
  readonly nodeTimeoutMs?: number;
}

export interface KeepMigratingOptions extends MoveSlotOptions {
  /** At most so many moves. Default: 100. */
  readonly times?: number;
  /** No move begins later than this. Default: 30 s. */
  readonly withinMs?: number;
}

/** Starts the nodes and joins them; resolves when every node can be used, knows all others, and replicas follow. */
export async function redisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicasPerMaster = 1 } = options;
  const nodes = await startAll(Array.from({ length: masters * (1 + replicasPerMaster) }, async () => startNode(options)));
  try {
    await join(nodes, masters);
    return new RedisCluster(nodes, options.password);
  } catch (error) {
    await endAll(nodes);
    throw error;
  }
}

async function startNode({ args = [], password, appendonly, nodeTimeoutMs = 1000 }: RedisClusterOptions): Promise<RedisServer> {
  const cluster = ["--cluster-enabled", "yes", "--cluster-port", `${await freePort()}`, "--cluster-announce-ip", "127.0.0.1"];
  // A replica always tries to take over, stays with its master, and is synchronised at once.
  const haste = ["--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0"];
  return redisServer({
    args: [...cluster, ...haste, "--cluster-node-timeout", `${nodeTimeoutMs}`, ...args],
    ...(password === undefined ? {} : { password }),
    ...(appendonly === undefined ? {} : { appendonly }),
  });
}

async function join(nodes: readonly RedisServer[], masters: number): Promise<void> {
  const ids = await Promise.all(nodes.map(async (node) => String(await node.call("CLUSTER", "MYID"))));
  const busPorts = await Promise.all(nodes.map(async (node) => ((await node.call("CONFIG", "GET", "cluster-port")) as string[])[1] ?? ""));
  await Promise.all(
    nodes.map(async (node, index) => {
      await node.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      const first = Math.floor((SLOTS * index) / masters);
      const last = Math.floor((SLOTS * (index + 1)) / masters) - 1;
      if (index < masters) await node.call("CLUSTER", "ADDSLOTSRANGE", first, last);
      // Everybody is introduced to everybody: gossip would take a second for each step.
      for (const [other, { port }] of nodes.entries()) {
        if (other < index) await node.call("CLUSTER", "MEET", "127.0.0.1", port, busPorts[other] ?? "");
      }
    }),
  );
  await Promise.all(
    nodes.slice(masters).map(async (replica, index) => {
      // Refused as an unknown node until the handshake is through.
      const master = ids[index % masters] ?? "";
      await until("replica knows its master", FORM_MS, async () => (await replica.call("CLUSTER", "REPLICATE", master)) === "OK");
    }),
  );
  await until("masters know each other's epochs", FORM_MS, async () => epochsAgree(nodes.slice(0, masters)));
  await Promise.all(
    nodes.map(async (node) =>
      until("cluster is formed", FORM_MS, async () => {
        const lines = await nodeLines(node);
        const replicas = lines.filter(({ masterId }) => masterId !== "-").length;
        return lines.length === nodes.length && replicas === nodes.length - masters && isOnline(node);
      }),
    ),
  );
}

export class RedisCluster implements AsyncDisposable {
  /** All of them; the first ones began as masters, replica i as that of master i modulo the number of masters. */
  readonly nodes: readonly RedisServer[];
  /** `redis+cluster://127.0.0.1:<port>,…` with every node, and the password where there is one. */
  readonly url: string;
  readonly #password: string | undefined;
  readonly #clients = new Set<Cluster>();

  /** Of nodes that are joined already; tests call {@link redisCluster}. */
  constructor(nodes: readonly RedisServer[], password: string | undefined) {
    this.nodes = nodes;
    const auth = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
    this.url = `redis+cluster://${auth}${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
    this.#password = password;
  }

  /** The slot of a key. */
  async slotOf(key: string): Promise<number> {
    return Number(await this.#anyNode().call("CLUSTER", "KEYSLOT", key));
  }

  /** The running master that owns the slot, once all running nodes agree who that is. */
  async masterOf(slot: number): Promise<RedisServer> {
    return this.#agreed(slot, () => this.#running());
  }

  /** The running nodes that are masters of slots. */
  async masters(): Promise<RedisServer[]> {
    const lines = await nodeLines(this.#anyNode());
    return this.#running().filter((node) => lines.some(({ port, slots }) => port === node.port && slots.length > 0));
  }

  /** SIGKILL for the slot's master; resolves with it when a replica has taken over and the running nodes can be used again. */
  async killMaster(slot: number): Promise<RedisServer> {
    const master = await this.masterOf(slot);
    await master.kill();
    await this.masterOf(slot);
    await this.settled();
    return master;
  }

  /** Starts a node again; resolves when it is in the cluster, as a replica where another took its slots. */
  async restartNode(node: RedisServer): Promise<void> {
    await node.start();
    await this.settled();
  }

  /** Resolves when every running node says that the cluster can be used and every running replica follows its master. */
  async settled(): Promise<void> {
    await until("every running node is online", SETTLE_MS, async () => {
      const online = await Promise.all(this.#running().map(isOnline));
      return online.every(Boolean);
    });
  }

  /**
   * Moves one slot to another master while clients use it, as redis-cli would. Resolves with its new master. Not to be
   * combined with killing either master meanwhile: Redis 7.0 does not tell replicas of a migration, so keys would be lost.
   */
  async migrateSlot(slot: number, options: MoveSlotOptions = {}): Promise<RedisServer> {
    const masters = await this.masters();
    // Replicas hear of a move by gossip, up to a second later.
    const from = await this.#agreed(slot, () => masters);
    const to = masters[(masters.indexOf(from) + 1) % masters.length];
    if (to === undefined || to === from) throw new Error("A slot can be moved only where there are two masters");
    await moveSlot({ slot, from, to, masters, password: this.#password, ...options });
    return to;
  }

  /**
   * Moves one slot on and on until the signal is aborted, the number of moves or the time is reached. A move once begun is
   * completed, so that the slot is whole afterwards. Resolves with the number of moves.
   */
  async keepMigrating(slot: number, signal: AbortSignal, options: KeepMigratingOptions = {}): Promise<number> {
    const { times = 100, withinMs = 30_000, ...move } = options;
    const deadline = performance.now() + withinMs;
    let moves = 0;
    for (; moves < times && !signal.aborted && performance.now() < deadline; moves++) await this.migrateSlot(slot, move);
    return moves;
  }

  /** A new ioredis Cluster client; closed with the cluster. */
  client(options: Omit<ClusterOptions, "redisOptions"> = {}): Cluster {
    const startupNodes = this.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const redisOptions = this.#password === undefined ? {} : { password: this.#password };
    const client = new Cluster(startupNodes, { ...options, redisOptions });
    // A command that fails tells its caller.
    client.on("error", () => undefined);
    this.#clients.add(client);
    return client;
  }

  /** Kills all nodes and closes the clients. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    await endAll(this.nodes);
  }

  async #agreed(slot: number, judges: () => readonly RedisServer[]): Promise<RedisServer> {
    return until(`nodes agree on a running master of slot ${slot}`, SETTLE_MS, async () => {
      const [port, ...others] = new Set(await Promise.all(judges().map(async (node) => ownerPort(node, slot))));
      return others.length === 0 && this.#running().find((node) => node.port === port);
    });
  }

  #running(): RedisServer[] {
    return this.nodes.filter(({ running }) => running);
  }

  #anyNode(): RedisServer {
    const [node] = this.#running();
    if (node === undefined) throw new Error("No node is running");
    return node;
  }
}
