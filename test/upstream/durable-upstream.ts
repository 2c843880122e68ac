/** What holds for a front before an agent that keeps its work: whichever process dies, the caller ends with what the agent produced, once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, type ClientBinding } from "../../src/client/index.ts";
import { serve } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { Front, QUIET } from "./front-bed.ts";
import { FrontProcesses } from "./front-process.ts";
import { asTask, begin, seen, stateName, texts } from "./tasks.ts";
import type { UpstreamProcess } from "./upstream-process.ts";

/** An agent that says lines, one part each, in a process that can be killed. */
export interface DurableUpstream extends AsyncDisposable {
  readonly process: UpstreamProcess;
  /** Of its card. */
  readonly url: string;
  /** What asks for so many lines, so many milliseconds apart. */
  readonly ask: (count: number, ms: number) => string;
  readonly line: (index: number) => string;
}

/** Its bindings as the command line names them. */
const NAMES: Readonly<Record<string, string>> = { GRPC: "grpc", "HTTP+JSON": "rest", JSONRPC: "json-rpc" };
const COUNT = 12;

/** A front in this process, which comes to the upstream through a proxy. */
async function frontOf(
  url: string,
  binding: ClientBinding,
): Promise<{ readonly front: Front; readonly proxy: TcpProxy } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const card = fromJson(AgentCardSchema, (await (await fetch(url)).json()) as JsonValue, { ignoreUnknownFields: true });
  const port = Number(/:(\d+)/.exec(card.supportedInterfaces.find((one) => one.protocolBinding === binding)?.url ?? "")?.[1]);
  const proxy = stack.use(await TcpProxy.open({ port }));
  const reconnect = { baseMs: 20, maxMs: 200 };
  const agent = await upstreamAgent(resolveCard(card, binding, proxy.port), { retryMs: 100, client: { bindings: [binding], reconnect } });
  const server = await serve({ ...QUIET, agent });
  const front = stack.use(new Front(agent, server, await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`, { reconnect })));
  const kept = stack.move();
  return { front, proxy, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Tests that hold for such an agent, over each binding that it speaks. Call it inside a suite. */
export function survives(bindings: readonly ClientBinding[], start: () => Promise<DurableUpstream>): void {
  for (const binding of bindings) {
    test(`the agent's process is killed and started again, over ${binding}: the caller has all lines, once`, async () => {
      await using upstream = await start();
      await using bed = await frontOf(upstream.url, binding);
      const { client } = bed.front;
      const id = await begin(client, upstream.ask(COUNT, 100));
      await seen(client, id, (task) => texts(task).length >= 3);
      await upstream.process.kill();
      await upstream.process.again();
      checkLines(asTask(await client.follow(id)), upstream);
    });

    test(`the stream is cut again and again, over ${binding}: the caller has all lines, once`, async () => {
      await using upstream = await start();
      await using bed = await frontOf(upstream.url, binding);
      const { client } = bed.front;
      const id = await begin(client, upstream.ask(COUNT, 100));
      for (const count of [2, 5, 8]) {
        await seen(client, id, (task) => texts(task).length >= count || stateName(task) === "COMPLETED");
        bed.proxy.cut();
      }
      checkLines(asTask(await client.follow(id)), upstream);
    });

    test(`our replica is killed and taken over, and then the agent, over ${binding}: the caller has all lines, once`, async () => {
      await using upstream = await start();
      const args = ["--upstream-binding", NAMES[binding] ?? ""];
      await using fronts = await FrontProcesses.start(upstream.url, args);
      const id = await begin(fronts.client, upstream.ask(COUNT, 200));
      await seen(fronts.client, id, (task) => texts(task).length >= 2);
      await fronts.kill();
      await seen(fronts.client, id, (task) => texts(task).length >= 4);
      await upstream.process.kill();
      await upstream.process.again();
      checkLines(asTask(await fronts.client.follow(id)), upstream);
    });
  }
}

function checkLines(task: Parameters<typeof texts>[0], { line }: DurableUpstream): void {
  assert.equal(stateName(task), "COMPLETED");
  assert.deepEqual(
    texts(task),
    Array.from({ length: COUNT }, (_, index) => line(index)),
  );
}
