/** A foreign agent behind fronts. */
import { A2AClient, type ClientOptionsInput } from "../../src/client/index.ts";
import { serve, type ServeInit } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import type { UpstreamOptionsInput } from "../../src/upstream/upstream-options.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { ForeignAgent, type ForeignOptions } from "./foreign-agent.ts";
import { Front, QUIET } from "./front-bed.ts";

/** An upstream that a test leads by the hand, the proxy before it, and its fronts. */
export class ForeignBed implements AsyncDisposable {
  readonly agent: ForeignAgent;
  readonly proxy: TcpProxy;
  readonly #stack: AsyncDisposableStack;

  private constructor(agent: ForeignAgent, proxy: TcpProxy, stack: AsyncDisposableStack) {
    this.agent = agent;
    this.proxy = proxy;
    this.#stack = stack;
  }

  static async open(options: ForeignOptions = {}): Promise<ForeignBed> {
    await using stack = new AsyncDisposableStack();
    const agent = stack.use(await ForeignAgent.open(options));
    const proxy = stack.use(await TcpProxy.open({ port: agent.port }));
    return new ForeignBed(agent, proxy, stack.move());
  }

  /** A front that calls the agent through the proxy, and looks for it again at once. Disposed with the bed. */
  async front(init: Partial<ServeInit> = {}, options: UpstreamOptionsInput = {}, call: ClientOptionsInput = {}): Promise<Front> {
    const client = { reconnect: { baseMs: 5, maxMs: 20, attempts: 3 }, attempts: 2, pollIntervalMs: 10, ...options.client };
    const agent = await upstreamAgent(this.agent.card(this.proxy.port), { retryMs: 10, settleMs: 200, ...options, client });
    const server = await serve({ ...QUIET, ...init, agent });
    const caller = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`, { reconnect: { baseMs: 5, maxMs: 50 }, ...call });
    return this.#stack.use(new Front(agent, server, caller));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
