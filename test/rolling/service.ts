/** A service as it is deployed: replicas as processes on one Redis, and nginx in front by the configuration that the documents show. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Nginx } from "../nginx.ts";
import { freePort } from "../redis/free-port.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { QUICK, ROOT, type ServerProcess, startServer } from "../e2e/server-process.ts";

const CURRENT: ServiceVersion = { agent: "test/rolling/agent.ts" };

/** Where nginx listens. */
export interface ServicePorts {
  readonly grpc: number;
  readonly http: number;
  /** The same over HTTP/2 in clear text, which this nginx cannot have on one port with HTTP/1.1; with TLS it can. */
  readonly http2: number;
}

/** How a service is made up. */
export interface ServiceOptions {
  readonly replicas: number;
  /** Connections that nginx may have at once. */
  readonly connections: number;
  /** How long nginx waits for a word from a replica, in the place of an hour. */
  readonly patience?: string;
  /** More options of each replica, by their names on the command line. */
  readonly serve?: Readonly<Record<string, string | number>>;
  /** What runs. Default: this version with the agent of this folder. */
  readonly version?: ServiceVersion;
}

/** A version of the program, and its agent. */
export interface ServiceVersion {
  readonly main?: string;
  readonly agent: string;
}

interface Place {
  readonly replica: string;
  readonly "grpc-port": number;
  readonly "http-port": number;
}

/** A running service. */
export class Service implements AsyncDisposable {
  readonly ports: ServicePorts;
  readonly redis: RedisServer;
  readonly #places: readonly Place[];
  readonly #serve: Readonly<Record<string, string | number>>;
  readonly #running: (ServerProcess | undefined)[] = [];
  #nginx: Nginx | undefined;
  #version: ServiceVersion;

  private constructor(
    redis: RedisServer,
    places: readonly Place[],
    ports: ServicePorts,
    { serve = {}, version = CURRENT }: ServiceOptions,
  ) {
    this.redis = redis;
    this.ports = ports;
    this.#places = places;
    this.#version = version;
    this.#serve = { "public-grpc-url": `127.0.0.1:${ports.grpc}`, "public-http-url": `http://127.0.0.1:${ports.http}`, ...serve };
  }

  /** Starts everything; resolves when nginx listens. */
  static async open(options: ServiceOptions): Promise<Service> {
    const places: Place[] = [];
    for (let index = 0; index < options.replicas; index += 1)
      places.push({ replica: `replica-${index + 1}`, "grpc-port": await freePort(), "http-port": await freePort() });
    const ports = { grpc: await freePort(), http: await freePort(), http2: await freePort() };
    const service = new Service(await redisServer({ appendonly: "always" }), places, ports, options);
    try {
      await Promise.all(places.map((_, index) => service.#start(index)));
      const { connections, patience = "1h" } = options;
      const http = configuration(ports, places).replaceAll("_timeout 1h;", `_timeout ${patience};`);
      service.#nginx = await Nginx.open({ http, ports: Object.values(ports), connections });
      return service;
    } catch (error) {
      await service[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Replaces one replica after the other: SIGTERM, its end, the next of its name, which is ready when this goes on; by another version where
   * one is given. Answers milliseconds of each.
   */
  async roll(to: ServiceVersion = this.#version): Promise<number[]> {
    this.#version = to;
    const took: number[] = [];
    for (const index of this.#places.keys()) {
      const began = performance.now();
      const old = this.#running[index]?.process;
      old?.signal("SIGTERM");
      const exit = await old?.exited;
      if (exit?.code !== 0) throw new Error(`replica ${index + 1} ended with ${JSON.stringify(exit)}: ${old?.stderr}`);
      await this.#start(index);
      took.push(performance.now() - began);
    }
    return took;
  }

  async #start(index: number): Promise<void> {
    const all = { ...this.#serve, ...this.#places[index], "redis-url": this.redis.url };
    const options = Object.entries(all).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const { agent, main } = this.#version;
    this.#running[index] = await startServer([agent, "--log", "warn", ...options], QUICK, main);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nginx?.[Symbol.asyncDispose]();
    for (const replica of this.#running) await replica?.[Symbol.asyncDispose]();
    await this.redis[Symbol.asyncDispose]();
  }
}

/** The configuration of the documents with these replicas, on these ports of this machine. */
function configuration({ grpc, http, http2 }: ServicePorts, places: readonly Place[]): string {
  const text = readFileSync(join(ROOT, "deploy/nginx/throughline.conf"), "utf8");
  const servers = (port: "grpc-port" | "http-port"): string =>
    places.map((place) => `    server 127.0.0.1:${place[port]} max_fails=0;\n`).join("");
  const placed = text
    .replace(/( {4}server replica-\d+\.internal:50051 max_fails=0;\n)+/, servers("grpc-port"))
    .replace(/( {4}server replica-\d+\.internal:8080 max_fails=0;\n)+/, servers("http-port"))
    .replace("listen 50051 http2;", `listen 127.0.0.1:${grpc} http2;`);
  const whole = placed.indexOf("server {\n    listen 8080;");
  const server = placed.slice(whole);
  return `${placed.slice(0, whole)}${server.replace("listen 8080;", `listen 127.0.0.1:${http};`)}${server.replace("listen 8080;", `listen 127.0.0.1:${http2} http2;`)}`;
}
