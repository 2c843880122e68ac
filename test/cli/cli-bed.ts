/** A server in this process, and the command line that calls it in processes of its own. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before } from "node:test";
import { toJsonString } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import type { ServeInit } from "../../src/server/serve.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import type { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { cli, type CliProcess, type Ran, runCli } from "../e2e/server-process.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";

/** What a process is given beside its arguments. */
interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
}

/** An agent that is called through a proxy. */
interface Proxied extends AsyncDisposable {
  readonly proxy: TcpProxy;
  /** Of the card that leads through it. */
  readonly url: string;
}

/** A bed whose agent the commands find. */
export interface CliBed {
  (): Bed;
  /** Runs `throughline …` to its end. */
  readonly run: (args: readonly string[], given?: Given) => Promise<Ran>;
  /** Starts it. */
  readonly start: (args: readonly string[], given?: Given) => CliProcess;
  readonly behindProxy: (binding: ClientBinding) => Promise<Proxied>;
}

/** Opens a server for a suite. */
export function cliBed(init: Partial<ServeInit> = {}, agent?: ScenarioAgent): CliBed {
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
  const environment = (env: Given["env"]): Record<string, string> => ({
    THROUGHLINE_AGENT: `http://127.0.0.1:${here().server.ports.http}`,
    ...env,
  });
  return Object.assign(here, {
    run: (args: readonly string[], { env, input }: Given = {}) => runCli(args, environment(env), input),
    start: (args: readonly string[], { env, input }: Given = {}) => cli(args, environment(env), input),
    behindProxy: async (binding: ClientBinding) => {
      const { ports, card } = here().server;
      await using opened = new AsyncDisposableStack();
      const proxy = opened.use(await TcpProxy.open({ port: binding === "GRPC" ? ports.grpc : ports.http }));
      const text = toJsonString(AgentCardSchema, resolveCard(card, binding, proxy.port));
      const server = createServer((_, reply) => reply.setHeader("content-type", "application/json").end(text));
      await once(server.listen(0, "127.0.0.1"), "listening");
      opened.defer(async () => {
        server.closeAllConnections();
        await once(server.close(), "close");
      });
      const stack = opened.move();
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/card.json`;
      return { proxy, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
    },
  });
}

/** The lines of a text, each as JSON. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The task that a process has said it shows. */
export function taskIdOf({ stderr }: { readonly stderr: string }): string {
  const id = /^task (\S+)$/m.exec(stderr)?.[1];
  if (id === undefined) throw new Error(`no task in ${stderr}`);
  return id;
}
