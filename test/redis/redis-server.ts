/** A real redis-server of the test's own: started, killed, paused and started again on the same port and folder. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Redis, type RedisOptions } from "ioredis";
import { removeFolder, spawnGuarded, temporaryFolder } from "./child-guard.ts";
import { findRedisServer } from "./find-redis.ts";
import { freePort } from "./free-port.ts";
import { isReady } from "./is-ready.ts";

const START_MS = 30_000;
const PROBE_EVERY_MS = 5;

export interface RedisServerOptions {
  /** More of the command line, e.g. `["--maxmemory", "10mb"]`; wins over what the fixture sets. */
  readonly args?: readonly string[];
  /** Default: a free one. */
  readonly port?: number;
  /** Default: a temporary folder, removed at the end. A folder given is left as it is. */
  readonly dir?: string;
  /** Of the default user. Default: none. */
  readonly password?: string;
  /** `"always"`: every write is on disk before it is answered, so that `kill()` and `start()` lose nothing. Default: nothing is kept. */
  readonly appendonly?: "always";
}

/** Starts a redis-server; resolves when it answers. */
export async function redisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { args = [], password, appendonly } = options;
  const aof = appendonly === "always" ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"];
  const auth = password === undefined ? [] : ["--requirepass", password, "--masterauth", password];
  const more = [...aof, ...auth, ...args];
  return startOnFreePort(options, (port, dir) =>
    ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--loglevel", "warning"].concat(more),
  );
}

/** As {@link redisServer} for any command line, e.g. that of a sentinel. A port that was drawn and turns out to be taken is drawn again. */
export async function startOnFreePort(
  options: Pick<RedisServerOptions, "port" | "dir" | "password">,
  commandLine: (port: number, dir: string) => readonly string[],
): Promise<RedisServer> {
  for (let attempt = 0; ; attempt++) {
    const port = options.port ?? (await freePort());
    const dir = options.dir ?? temporaryFolder("redis");
    const server = new RedisServer({
      port,
      dir,
      ownsDir: options.dir === undefined,
      password: options.password,
      args: commandLine(port, dir),
    });
    try {
      await server.start();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      const taken = error instanceof Error && error.message.includes("Address already in use");
      if (!taken || options.port !== undefined || attempt === 5) throw error;
    }
  }
}

interface Launch {
  readonly port: number;
  readonly dir: string;
  readonly ownsDir: boolean;
  readonly password: string | undefined;
  readonly args: readonly string[];
}

export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly dir: string;
  /** `redis://127.0.0.1:<port>`, with the password where there is one. */
  readonly url: string;
  readonly #launch: Launch;
  readonly #clients = new Set<Redis>();
  #inspector: Redis | undefined;
  #process: { readonly child: ChildProcess; readonly exited: Promise<unknown> } | undefined;
  #output = "";

  /** Not started yet; tests call {@link redisServer}. */
  constructor(launch: Launch) {
    this.#launch = launch;
    this.port = launch.port;
    this.dir = launch.dir;
    const auth = launch.password === undefined ? "" : `:${encodeURIComponent(launch.password)}@`;
    this.url = `redis://${auth}127.0.0.1:${launch.port}`;
  }

  /** Of the running process; throws where it is down. */
  get pid(): number {
    const pid = this.#process?.child.pid;
    if (pid === undefined) throw new Error("redis-server is not running");
    return pid;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Starts it (again) on its port and folder; resolves when it answers PING, with its data loaded. */
  async start(): Promise<void> {
    if (this.#process !== undefined) throw new Error("redis-server is running already");
    this.#output = "";
    const child = spawnGuarded(findRedisServer(), this.#launch.args, this.dir);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-4096);
      });
    }
    const ended = new AbortController();
    // "close" comes after "exit", when the last output has been read.
    const exited = once(child, "close").finally(() => {
      ended.abort();
      if (this.#process?.child === child) this.#process = undefined;
    });
    this.#process = { child, exited };
    const deadline = performance.now() + START_MS;
    while (!(await isReady(this.port, child.pid, this.#launch.password))) {
      if (ended.signal.aborted) throw new Error(`redis-server ended at its start: ${this.#output}`);
      if (performance.now() > deadline) {
        await this.kill();
        throw new Error(`redis-server gave no answer for ${START_MS} ms: ${this.#output}`);
      }
      await delay(PROBE_EVERY_MS);
    }
  }

  /** SIGKILL: nothing is flushed. Resolves when the process is gone; no effect where it is. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** An orderly end (SIGTERM; nothing is saved but what the append-only file holds). Resolves when the process is gone. */
  async shutdown(): Promise<void> {
    this.#process?.child.kill("SIGCONT");
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    if (running === undefined) return;
    running.child.kill(signal);
    await running.exited;
  }

  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  /** Ends {@link pause}. */
  resume(): void {
    process.kill(this.pid, "SIGCONT");
  }

  /** A new ioredis client of this server for looking at it; closed with the server. It finds back after a restart. */
  client(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
    const { port } = this;
    const { password } = this.#launch;
    const auth = password === undefined ? {} : { password };
    const client = new Redis({ host: "127.0.0.1", port, ...auth, retryStrategy: () => 25, ...options });
    // A command that fails tells its caller; the lost connection itself is what tests bring about.
    client.on("error", () => undefined);
    this.#clients.add(client);
    return client;
  }

  /** One command on a connection kept for this; fails after half a second without a server. */
  async call(command: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    this.#inspector ??= this.client();
    return this.#inspector.call(command, ...args);
  }

  /** As {@link call}, with replies as Buffers. */
  async binary(command: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    this.#inspector ??= this.client();
    return this.#inspector.callBuffer(command, ...args);
  }

  /** Kills it, closes its clients and removes its folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    this.#inspector = undefined;
    await this.kill();
    if (this.#launch.ownsDir) removeFolder(this.dir);
  }
}
