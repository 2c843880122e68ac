/** A replica as a process of its own, behind a proxy of its own where there is one Redis server. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ServerProcess, startServer } from "../e2e/server-process.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { GIVEN_FILE, RESUMABLE } from "./agent.ts";
import { isResumable, type Replica, type StartReplica, type StoreLink } from "./fleet.ts";
import { PREFIX } from "./redis-logs.ts";
import type { RedisStore } from "./redis-stores.ts";
import { PUSH_OPTIONS, SERVE_OPTIONS } from "./serve-options.ts";

/** What the replicas of a run share. */
export interface ProcessInit {
  readonly store: RedisStore;
  readonly durability: string;
  /** Redis replicas that must have a write. */
  readonly redisReplicas: number;
  /** Entries that are kept of each log; all where it is undefined. */
  readonly windowEntries: number | undefined;
  readonly webhooks: boolean;
  /** Where their stderr and the agents' notes go. */
  readonly dir: string;
}

/** A reply is dropped only where somebody writes; after this long nobody did. */
const DROP_MS = 3000;

/** Starts replicas as processes. */
export function processReplicas(init: ProcessInit): StartReplica {
  return async (place, generation) => {
    const name = `replica-${place}-${generation}`;
    const { store, durability, dir, redisReplicas, webhooks, windowEntries = SERVE_OPTIONS.windowEntries } = init;
    const proxy = store.port === undefined ? undefined : await TcpProxy.open({ port: store.port });
    const flags = {
      ...SERVE_OPTIONS,
      replica: name,
      redisUrl: proxy?.url ?? store.url,
      redisPrefix: PREFIX,
      redisDurability: durability,
      redisReplicas,
      windowEntries,
      ...(webhooks && Object.fromEntries(Object.entries(PUSH_OPTIONS).map(([key, value]) => [`push-${key}`, value]))),
    };
    const args = Object.entries(flags).flatMap(([key, value]) => [
      `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      `${value}`,
    ]);
    const env = { [GIVEN_FILE]: join(dir, "given.jsonl"), [RESUMABLE]: `${isResumable(place)}` };
    try {
      const server = await startServer(["test/chaos/agent.ts", "--log", "warn", ...args], env);
      return new ProcessReplica(name, server, proxy, join(dir, `${name}.stderr`));
    } catch (error) {
      await proxy?.[Symbol.asyncDispose]();
      appendFileSync(join(dir, `${name}.stderr`), String(error));
      throw error;
    }
  };
}

/** Replicas do not outlive the run, however it ends. */
const living = new Set<ProcessReplica>();
process.on("exit", () => {
  for (const replica of living) void replica.kill();
});

class ProcessReplica implements Replica {
  readonly endpoint: Replica["endpoint"];
  readonly gone: Promise<string | undefined>;
  readonly link?: StoreLink;
  readonly #server: ServerProcess;
  #meant = false;

  constructor(name: string, server: ServerProcess, proxy: TcpProxy | undefined, stderr: string) {
    this.#server = server;
    const { grpc, http } = server.ports;
    this.endpoint = { replica: name, grpc, http };
    if (proxy !== undefined) this.link = linkOf(proxy);
    appendFileSync(stderr, server.process.stderr);
    server.process.child.stderr?.on("data", (text: string) => appendFileSync(stderr, text));
    living.add(this);
    this.gone = server.process.exited.then(async ({ code, signal }) => {
      living.delete(this);
      await proxy?.[Symbol.asyncDispose]();
      return this.#meant && (code === 0 || signal === "SIGKILL") ? undefined : `ended by itself: exit code ${code}, signal ${signal}`;
    });
  }

  async kill(): Promise<void> {
    this.#meant = true;
    this.#server.process.signal("SIGKILL");
    await this.gone;
  }

  drain(): void {
    this.#meant = true;
    this.#server.process.signal("SIGTERM");
  }

  memory(): number {
    try {
      const status = readFileSync(`/proc/${this.#server.process.child.pid}/status`, "utf8");
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
    } catch {
      // It has just ended, or this is no Linux.
      return 0;
    }
  }

  freeze(): void {
    this.#server.process.signal("SIGSTOP");
  }

  thaw(): void {
    this.#server.process.signal("SIGCONT");
  }
}

function linkOf(proxy: TcpProxy): StoreLink {
  return {
    cut: () => proxy.cut(),
    block: () => {
      proxy.refuse();
      proxy.cut();
    },
    delay: (ms) => proxy.delay(ms),
    swallow: () => proxy.halfOpen(),
    dropReply: async () => {
      // Scripts are what writes; a subscriber's connection has none.
      const dropped = proxy.dropNextReply({ match: (request) => request.includes("EVALSHA") || request.includes("evalsha") });
      const { promise, resolve } = Promise.withResolvers<void>();
      const late = setTimeout(resolve, DROP_MS);
      await Promise.race([dropped.catch(() => undefined), promise]);
      clearTimeout(late);
    },
    heal: () => proxy.heal(),
  };
}
