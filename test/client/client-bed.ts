/** A server and clients of it over every binding, each behind a proxy that can cut it. */
import { after, before } from "node:test";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding, ClientOptionsInput } from "../../src/client/client-options.ts";
import { resolveCard } from "./resolve-card.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import type { ServeInit } from "../../src/server/serve.ts";
import type { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";

/** All that the client speaks. */
export const BINDINGS: readonly ClientBinding[] = ["GRPC", "HTTP+JSON", "JSONRPC", "CONNECT"];

/** A client and the proxy before its server. */
interface Proxied extends AsyncDisposable {
  readonly client: A2AClient;
  readonly proxy: TcpProxy;
}

/** A bed with clients. */
export interface ClientBed {
  (): Bed;
  /** A client whose calls go through a proxy of its own; its card is the server's, with the proxy's addresses. */
  readonly through: (binding: ClientBinding, options?: ClientOptionsInput) => Promise<Proxied>;
}

/** Opens a server for a suite. */
export function clientBed(init: Partial<ServeInit> = {}, agent?: ScenarioAgent): ClientBed {
  let bed: Bed | undefined;
  before(async () => {
    bed = await openBed(init, agent);
  });
  after(async () => {
    await bed?.[Symbol.asyncDispose]();
  });
  const here = (): Bed => {
    if (bed === undefined) throw new Error("the server is not up");
    return bed;
  };
  return Object.assign(here, {
    through: async (binding: ClientBinding, options: ClientOptionsInput = {}) => {
      const { ports, card } = here().server;
      const proxy = await TcpProxy.open({ port: binding === "GRPC" ? ports.grpc : ports.http });
      const client = await A2AClient.connect(resolveCard(card, binding, proxy.port), {
        bindings: [binding],
        reconnect: { baseMs: 5, maxMs: 50 },
        ...options,
      });
      return {
        client,
        proxy,
        [Symbol.asyncDispose]: async () => {
          await client.close();
          await proxy[Symbol.asyncDispose]();
        },
      };
    },
  });
}
