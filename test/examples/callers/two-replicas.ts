/** What callers are tried on: two replicas on one Redis, and a proxy before the first one, which cuts connections and leads elsewhere. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Agent } from "../../../src/index.ts";
import { Replica } from "../../e2e/replica.ts";
import { redisServer } from "../../redis/redis-server.ts";
import { TcpProxy } from "../../redis/tcp-proxy.ts";

/** Where callers connect. */
export type Port = "grpc" | "http";

export class TwoReplicas implements AsyncDisposable {
  readonly proxy: TcpProxy;
  readonly #port: Port;
  readonly #home: Replica;
  readonly #away: Replica;
  readonly #parts: AsyncDisposable;

  private constructor(port: Port, replicas: readonly [Replica, Replica], proxy: TcpProxy, parts: AsyncDisposable) {
    this.#port = port;
    [this.#home, this.#away] = replicas;
    this.proxy = proxy;
    this.#parts = parts;
  }

  /** Starts all of it; the proxy leads to that port of the first replica. */
  static async open(agent: Agent, port: Port): Promise<TwoReplicas> {
    await using parts = new AsyncDisposableStack();
    const redis = parts.use(await redisServer());
    const home = parts.use(await Replica.open(redis.url, agent, { replica: "home" }));
    const away = parts.use(await Replica.open(redis.url, agent, { replica: "away" }));
    const proxy = parts.use(await TcpProxy.open({ port: home.server.ports[port] }));
    return new TwoReplicas(port, [home, away], proxy, parts.move());
  }

  /** Drains the first replica; new connections go to the second one. */
  async drain(): Promise<void> {
    this.proxy.redirect({ port: this.#away.server.ports[this.#port] });
    await this.#home.server.drain();
  }

  /** A task as it is stored. */
  async task(id: string): Promise<JsonObject> {
    return (await this.#away.grpc.unary("GetTask", { id })).message;
  }

  /** How many tasks there are. */
  async count(): Promise<number> {
    return Number((await this.#away.grpc.unary("ListTasks")).message["totalSize"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts[Symbol.asyncDispose]();
  }
}
