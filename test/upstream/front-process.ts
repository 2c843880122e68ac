/** Fronts as processes of their own on one Redis, and a caller that comes to whichever is left. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/index.ts";
import { QUICK, type ServerProcess, startServer } from "../e2e/server-process.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";

/** Leases end soon. */
const FAST = ["--lease-ms", "1000", "--renew-ms", "300", "--sweep-ms", "50", "--working-after-ms", "600000", "--log", "silent"];

/** Replicas of a front. */
export class FrontProcesses implements AsyncDisposable {
  readonly client: A2AClient;
  readonly #replicas: ServerProcess[];
  readonly #start: (name: string) => Promise<ServerProcess>;
  readonly #proxy: TcpProxy;

  private constructor(client: A2AClient, replicas: ServerProcess[], start: (name: string) => Promise<ServerProcess>, proxy: TcpProxy) {
    this.client = client;
    this.#replicas = replicas;
    this.#start = start;
    this.#proxy = proxy;
  }

  /** Starts two: the caller comes to the first, and to the second when that is gone. */
  static async start(upstream: string, args: readonly string[] = []): Promise<FrontProcesses> {
    await using stack = new AsyncDisposableStack();
    const { url, prefix } = await fileRedis();
    const start = (name: string): Promise<ServerProcess> =>
      startServer(["--upstream", upstream, "--redis-url", url, "--redis-prefix", prefix, "--replica", name, ...FAST, ...args], QUICK);
    const replicas = (await Promise.all([start("one"), start("two")])).map((replica) => stack.use(replica));
    const http = replicas[0]?.ports.http ?? 0;
    const proxy = stack.use(await TcpProxy.open({ port: http }));
    const json = (await (await fetch(`http://127.0.0.1:${http}/.well-known/agent-card.json`)).json()) as JsonValue;
    const card = resolveCard(fromJson(AgentCardSchema, json), "HTTP+JSON", proxy.port);
    const client = await A2AClient.connect(card, { bindings: ["HTTP+JSON"], reconnect: { baseMs: 20, maxMs: 200, attempts: 100 } });
    stack.move();
    return new FrontProcesses(client, replicas, start, proxy);
  }

  /** Kills the replica to which the caller comes; from now on it comes to the other one. */
  async kill(): Promise<void> {
    const [first, second] = this.#replicas;
    first?.process.signal("SIGKILL");
    await first?.process.exited;
    this.#replicas.shift();
    this.#proxy.redirect({ port: second?.ports.http ?? 0 });
    this.#proxy.cut();
  }

  /** Starts one more, for when the next is killed. */
  async add(name: string): Promise<void> {
    this.#replicas.push(await this.#start(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.#proxy[Symbol.asyncDispose]();
    for (const replica of this.#replicas) {
      replica.process.signal("SIGKILL");
      await replica.process.exited;
    }
  }
}
