/** How calls over gRPC share the replicas that a name stands for, and those that are added. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { A2AService, Role } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { createGrpcTransport } from "../../../src/bindings/grpc/transport.ts";
import { working } from "../../../src/core/events.ts";
import { type RunningServer, serve, type ServeInit } from "../../../src/server/serve.ts";
import { freePort } from "../../redis/free-port.ts";
import { until } from "../../redis/until.ts";
import { CliProcess } from "../../e2e/server-process.ts";
import { NameServer } from "../../webhooks/name-server.ts";

const NAME = "agents.test";
const PLAIN_CALLER = "test/bindings/transport/plain-caller.ts";
const WITHIN_MS = 60_000;
const REPLICAS = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"] as const;

/** Replicas at addresses of their own, all on one port, that count their turns. */
class Replicas implements AsyncDisposable {
  readonly port: number;
  readonly turns = new Map<string, number>();
  readonly #servers: RunningServer[] = [];

  constructor(port: number) {
    this.port = port;
  }

  async add(hosts: readonly string[], init: Partial<ServeInit> = {}): Promise<void> {
    for (const host of hosts) {
      const server = await serve({
        ...init,
        host,
        grpcPort: this.port,
        httpPort: 0,
        opsPort: 0,
        drainMs: 0,
        streamGraceMs: 0,
        agent: {
          card: { name: "counting", description: "Counts", version: "1" },
          run: async function* ({ signal }) {
            yield working("for as long as the server does");
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          },
          reply: async (request) => {
            this.turns.set(host, (this.turns.get(host) ?? 0) + 1);
            const asked = request.message.parts[0]?.content.value;
            return asked === "stay" ? undefined : { parts: [{ content: { case: "text", value: host } }] };
          },
        },
      });
      this.#servers.push(server);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.drain({ atOnce: true, skip: AbortSignal.abort() })));
  }
}

suite("calls to a name", { timeout: 120_000 }, () => {
  test("reach the replicas that are added from 2 to 4, all of them, and streams that are open stay", async () => {
    await using names = await NameServer.open();
    await using replicas = new Replicas(await freePort());
    await replicas.add(REPLICAS.slice(0, 2));
    names.set(NAME, ...REPLICAS.slice(0, 2));
    const url = `dns://${names.address}/${NAME}:${replicas.port}`;
    const transport = createGrpcTransport({ url, plaintext: true, resolveMs: 100, headers: { "a2a-version": "1.0" } });
    using _transport = { [Symbol.dispose]: () => transport.close() };
    const client = createClient(A2AService, transport);
    const message = (value: string): { message: object } => ({
      message: { messageId: crypto.randomUUID(), role: Role.USER, parts: [{ content: { case: "text", value } }] },
    });
    const everybody = async (count: number): Promise<boolean> => {
      replicas.turns.clear();
      await Promise.all(Array.from({ length: 4 * count }, () => client.sendMessage(message("hello"))));
      return replicas.turns.size === count;
    };
    await until("both get calls", WITHIN_MS, () => everybody(2));
    const leave = new AbortController();
    const stream = client.sendStreamingMessage(message("stay"), { signal: leave.signal })[Symbol.asyncIterator]();
    const states = [(await stream.next()).value?.payload.case, (await stream.next()).value?.payload.case];
    const next = stream.next();
    let ended = false;
    next.then(
      () => (ended = true),
      () => (ended = true),
    );

    await replicas.add(REPLICAS.slice(2));
    names.set(NAME, ...REPLICAS);
    await until("all four get calls", WITHIN_MS, () => everybody(4));
    // With an even share: one after the other.
    assert.ok(await everybody(4));
    assert.deepEqual(new Set(replicas.turns.values()), new Set([4]));
    assert.deepEqual(states, ["task", "statusUpdate"]);
    assert.ok(!ended, "the stream goes on");
    leave.abort();
    await assert.rejects(next);
  });

  test("of a plain client reach the replicas that are added where connections have an age, none of them lost", async () => {
    await using names = await NameServer.open();
    await using replicas = new Replicas(await freePort());
    const aging = { connectionAgeMs: 1000 };
    await replicas.add(REPLICAS.slice(0, 2), aging);
    names.set(NAME, ...REPLICAS.slice(0, 2));
    await using caller = new CliProcess([PLAIN_CALLER, `dns://${names.address}/${NAME}:${replicas.port}`], {
      // grpc-js asks the name server of a target only so.
      GRPC_NODE_USE_ALTERNATIVE_RESOLVER: "true",
    });
    await caller.until(({ stdout }) => stdout.includes("called"));
    await replicas.add(REPLICAS.slice(2), aging);
    names.set(NAME, ...REPLICAS);
    await until("all four get calls", WITHIN_MS, async () => {
      replicas.turns.clear();
      const said = caller.stdout.length;
      await caller.until(({ stdout }) => stdout.length > said + 20 * "called\n".length);
      return replicas.turns.size === REPLICAS.length;
    });
    assert.doesNotMatch(caller.stdout, /failed/);
  });

  test("go on with the addresses that were known while the name cannot be resolved", async () => {
    await using names = await NameServer.open();
    await using replicas = new Replicas(await freePort());
    await replicas.add([REPLICAS[0]]);
    names.set(NAME, REPLICAS[0]);
    const url = `dns://${names.address}/${NAME}:${replicas.port}`;
    const transport = createGrpcTransport({ url, plaintext: true, resolveMs: 50, headers: { "a2a-version": "1.0" } });
    using _transport = { [Symbol.dispose]: () => transport.close() };
    const client = createClient(A2AService, transport);
    await client.listTasks({});
    names.names.delete(NAME);
    const asked = names.asked.length;
    await until("the name was asked for in vain", WITHIN_MS, async () => names.asked.length > asked + 4);
    await client.listTasks({});
  });

  test("fail as UNAVAILABLE where the name never led anywhere", async () => {
    await using names = await NameServer.open();
    const transport = createGrpcTransport({ url: `dns://${names.address}/${NAME}:1`, plaintext: true, headers: { "a2a-version": "1.0" } });
    using _transport = { [Symbol.dispose]: () => transport.close() };
    await assert.rejects(createClient(A2AService, transport).listTasks({}), /Name resolution failed for agents\.test/);
  });
});
