/** An upstream agent on a server of its own, and fronts before it. */
import { A2AClient, type ClientBinding, type ClientOptionsInput, type Task } from "../../src/client/index.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { type UpstreamAgent, upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import type { UpstreamOptionsInput } from "../../src/upstream/upstream-options.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";

/** Nothing happens by the clock. */
export const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };

/** A front: its agent, the server that serves it, and a client of that. */
export class Front implements AsyncDisposable {
  readonly agent: UpstreamAgent;
  readonly server: RunningServer;
  readonly client: A2AClient;

  constructor(agent: UpstreamAgent, server: RunningServer, client: A2AClient) {
    this.agent = agent;
    this.server = server;
    this.client = client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.server.drain({ atOnce: true, skip: AbortSignal.abort() });
    await this.agent[Symbol.asyncDispose]();
  }
}

/** An upstream and what is before it. */
export class FrontBed implements AsyncDisposable {
  readonly upstream: Bed;
  readonly proxy: TcpProxy;
  readonly #binding: ClientBinding;
  readonly #stack = new AsyncDisposableStack();

  private constructor(upstream: Bed, proxy: TcpProxy, binding: ClientBinding) {
    this.upstream = upstream;
    this.proxy = proxy;
    this.#binding = binding;
    this.#stack.use(upstream);
    this.#stack.use(proxy);
  }

  static async open(binding: ClientBinding, init: Partial<ServeInit> = {}, agent?: Bed["agent"]): Promise<FrontBed> {
    const upstream = await openBed(init, agent);
    const { grpc, http } = upstream.server.ports;
    return new FrontBed(upstream, await TcpProxy.open({ port: binding === "GRPC" ? grpc : http }), binding);
  }

  /** The upstream's own tasks, with all there is to them. */
  async upstreamTasks(): Promise<readonly Task[]> {
    await using client = await A2AClient.connect(`http://127.0.0.1:${this.upstream.server.ports.http}`);
    return (await client.listTasks({ includeArtifacts: true })).tasks;
  }

  /** A front that calls the upstream through the proxy. Disposed with the bed. */
  async front(init: Partial<ServeInit> = {}, options: UpstreamOptionsInput = {}, client: ClientOptionsInput = {}): Promise<Front> {
    const card = resolveCard(this.upstream.server.card, this.#binding, this.proxy.port);
    const reconnect = { baseMs: 5, maxMs: 50 };
    const agent = await upstreamAgent(card, { ...options, client: { bindings: [this.#binding], reconnect, ...options.client } });
    const server = await serve({ ...QUIET, ...init, agent });
    const caller = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`, { reconnect, ...client });
    return this.#stack.use(new Front(agent, server, caller));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
