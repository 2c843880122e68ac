/** A program that is up: its replicas, and the Redis that they share. */
import { type RedisServer, redisServer } from "../test/redis/redis-server.ts";
import { type ServerProcess, startServer } from "./processes.ts";
import type { Program } from "./programs.ts";
import type { Store } from "./rows/row.ts";
import type { Stats } from "./server-process.ts";

/** How a program is deployed. */
export interface DeploymentOptions {
  readonly store: Store;
  readonly profileDir: string | undefined;
}

/** Starts what is asked for and not yet up. Disposing ends all of it. */
export class Deployment implements AsyncDisposable {
  readonly #program: Program;
  readonly #profileDir: string | undefined;
  readonly #shared: boolean;
  readonly #servers: ServerProcess[] = [];
  #redis: RedisServer | undefined;

  constructor(program: Program, { store, profileDir }: DeploymentOptions) {
    this.#program = program;
    this.#profileDir = profileDir;
    this.#shared = program.shares && store === "redis";
  }

  /** At least so many replicas; one where they share no store. */
  async replicas(count: number): Promise<readonly ServerProcess[]> {
    if (this.#shared) this.#redis ??= await redisServer();
    const launch = { profileDir: this.#profileDir, redisUrl: this.#redis?.url };
    while (this.#servers.length < (this.#shared ? count : 1)) this.#servers.push(await startServer(this.#program, launch));
    return this.#servers;
  }

  /** Of all replicas together. */
  async stats(gc: boolean): Promise<Stats> {
    const all = await Promise.all(this.#servers.map((server) => server.stats(gc)));
    const sum = (key: keyof Stats): number => all.reduce((total, one) => total + (one[key] ?? Number.NaN), 0);
    return { rss: sum("rss"), heapUsed: sum("heapUsed"), cpu: sum("cpu") };
  }

  /** The end of what they wrote to stderr. */
  complaints(): string {
    return this.#servers.map((server) => server.complaints()).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
    await this.#redis?.[Symbol.asyncDispose]();
  }
}
