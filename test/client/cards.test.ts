/** Where the client's card comes from, how long it is kept, and which of its interfaces is used. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import { A2AError, UnknownOutcomeError } from "../../src/client/a2a-error.ts";
import { addressOf, endpointsOf } from "../../src/client/interfaces.ts";
import { isTask } from "../../src/client/task-view.ts";
import { freePort } from "../redis/free-port.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { clientBed } from "./client-bed.ts";

const CARD = "/.well-known/agent-card.json";

/** A server of cards, and what it was asked. */
class CardServer implements AsyncDisposable {
  readonly asked: { readonly path: string; readonly headers: IncomingMessage["headers"] }[] = [];
  readonly #server: Server;

  private constructor(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#server = createServer((request, response) => {
      this.asked.push({ path: request.url ?? "", headers: request.headers });
      answer(request, response);
    });
  }

  static async open(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<CardServer> {
    const server = new CardServer(answer);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function cardOf(
  ...interfaces: readonly (readonly [protocolBinding: string, url: string, protocolVersion?: string, tenant?: string])[]
): AgentCard {
  return create(AgentCardSchema, {
    name: "an agent",
    version: "1",
    capabilities: { streaming: true },
    supportedInterfaces: interfaces.map(([protocolBinding, url, protocolVersion = "1.0", tenant = ""]) => ({
      protocolBinding,
      url,
      protocolVersion,
      tenant,
    })),
  });
}

function send(response: ServerResponse, card: AgentCard, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(toJson(AgentCardSchema, card)));
}

suite("the card of an agent", () => {
  test("R-309 is looked for below the URL's path, then at its host, then where old versions had it", async () => {
    await using server = await CardServer.open((request, response) => {
      if (request.url === "/.well-known/agent.json") send(response, cardOf());
      else response.writeHead(404).end();
    });
    await using client = await A2AClient.connect(`${server.url}/agents/one/`);
    assert.equal((await client.card()).name, "an agent");
    assert.deepEqual(
      server.asked.map(({ path }) => path),
      [`/agents/one${CARD}`, CARD, "/agents/one/.well-known/agent.json", "/.well-known/agent.json"],
    );
  });

  test("is read where its own URL says", async () => {
    await using server = await CardServer.open((_, response) => send(response, cardOf()));
    await using client = await A2AClient.connect(`${server.url}/cards/mine.json`);
    await client.card();
    assert.deepEqual(
      server.asked.map(({ path }) => path),
      ["/cards/mine.json"],
    );
  });

  test("R-328 R-329 is kept as long as its server says, and then asked for by its tag and date", async () => {
    const answers = ["max-age=0", "max-age=1000"];
    await using server = await CardServer.open((request, response) => {
      const headers = {
        "cache-control": answers.shift() ?? assert.fail("asked once too often"),
        etag: '"one"',
        "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT",
      };
      if (request.headers["if-none-match"] === '"one"') response.writeHead(304, headers).end();
      else send(response, cardOf(), headers);
    });
    await using client = await A2AClient.connect(server.url);
    const [first, second] = [await client.card(), await client.card()];
    assert.equal(first, second);
    assert.equal(server.asked[1]?.headers["if-modified-since"], "Mon, 01 Jan 2024 00:00:00 GMT");
    assert.equal(server.asked.length, 2);
  });

  test("is used as it was where it cannot be asked for again", async () => {
    let broken = false;
    await using server = await CardServer.open((_, response) => {
      if (broken) response.destroy();
      else send(response, cardOf(), { "cache-control": "no-cache" });
    });
    await using client = await A2AClient.connect(server.url);
    broken = true;
    assert.equal((await client.card()).name, "an agent");
  });

  test("that is refused is told of, not looked for elsewhere", async () => {
    await using server = await CardServer.open((_, response) => response.writeHead(401).end());
    await assert.rejects(A2AClient.connect(server.url), (error: A2AError) => error instanceof A2AError && error.message.includes("401"));
    assert.equal(server.asked.length, 1);
  });

  test("R-344 is judged before it is used, as it came", async () => {
    await using server = await CardServer.open((_, response) => send(response, cardOf()));
    const verifyCard = (card: AgentCard, json: unknown): never => {
      assert.equal((json as { name: string }).name, card.name);
      throw new Error("not signed");
    };
    await assert.rejects(A2AClient.connect(server.url, { verifyCard }), /not signed/);
  });

  test("that is none is no card", async () => {
    await using server = await CardServer.open((_, response) => response.writeHead(200).end("<html>"));
    await assert.rejects(A2AClient.connect(server.url), /no agent card/);
    await assert.rejects(A2AClient.connect(`http://127.0.0.1:${await freePort()}`), /cannot fetch the agent card/);
  });

  test("is asked for with the caller's credentials", async () => {
    await using server = await CardServer.open((_, response) => send(response, cardOf()));
    await using client = await A2AClient.connect(server.url, {
      credentials: () => ({ authorization: "Bearer t" }),
      headers: { "x-team": "blue" },
    });
    await client.card();
    assert.deepEqual([server.asked[0]?.headers.authorization, server.asked[0]?.headers["x-team"]], ["Bearer t", "blue"]);
  });
});

suite("a card whose server does not answer any more", () => {
  test("keeps nobody waiting who has stopped, whoever was the first to ask", async () => {
    const hangs = Promise.withResolvers<void>();
    let isUp = true;
    await using server = await CardServer.open((_, response) => {
      if (isUp) send(response, cardOf(), { "cache-control": "no-cache" });
      else hangs.resolve();
    });
    await using client = await A2AClient.connect(server.url);
    isUp = false;
    const [first, second] = [new AbortController(), new AbortController()];
    const both = [first, second].map(({ signal }) => client.card({ signal }));
    await hangs.promise;
    for (const [at, one] of [second, first].entries()) {
      one.abort(new Error(`left ${at}`));
      await assert.rejects(both[1 - at] ?? assert.fail(), new RegExp(`left ${at}`));
    }
  });

  test("is not taken from those who wait by one who stops", async () => {
    const reply = Promise.withResolvers<ServerResponse>();
    let isUp = true;
    await using server = await CardServer.open((_, response) => {
      if (isUp) send(response, cardOf(), { "cache-control": "no-cache" });
      else reply.resolve(response);
    });
    await using client = await A2AClient.connect(server.url);
    isUp = false;
    const first = new AbortController();
    const [left, waits] = [client.card({ signal: first.signal }), client.card()];
    const held = await reply.promise;
    first.abort(new Error("left"));
    await assert.rejects(left, /left/);
    send(held, { ...cardOf(), version: "2" });
    assert.equal((await waits).version, "2");
  });
});

suite("the interface of a card", () => {
  test("R-322 is the first that is spoken, in the card's order or by preference", () => {
    const card = cardOf(
      ["JSONRPC", "https://a/0.3", "0.3"],
      ["urn:other", "x"],
      ["HTTP+JSON", "https://a/rest", "1.0", "acme"],
      ["GRPC", "a:1"],
    );
    assert.deepEqual(endpointsOf(card, undefined), [
      { binding: "HTTP+JSON", url: "https://a/rest", tenant: "acme" },
      { binding: "GRPC", url: "a:1", tenant: "" },
    ]);
    assert.deepEqual(
      endpointsOf(card, ["GRPC", "CONNECT"]).map(({ binding, url }) => [binding, url]),
      [
        ["GRPC", "a:1"],
        ["CONNECT", "https://a"],
      ],
    );
  });

  test("C-48 has an address in each form that an URL of gRPC has", () => {
    const of = (url: string): unknown => addressOf({ binding: "GRPC", url, tenant: "" });
    assert.deepEqual(of("host:50051"), { host: "host", port: 50_051 });
    assert.deepEqual(of("https://host"), { host: "host", port: 443 });
    assert.deepEqual(of("http://[::1]:80"), { host: "::1", port: 80 });
    assert.equal(of("dns:///agents:50051"), undefined);
    assert.equal(of("unix:/tmp/agent.sock"), undefined);
  });
});

suite("a client", () => {
  const bed = clientBed({ tokens: { fresh: "alice" } });

  test("R-005 goes to the next interface where one cannot be reached, and stays there", async () => {
    const { ports } = bed().server;
    const card = cardOf(["GRPC", `127.0.0.1:${await freePort()}`], ["GRPC", `127.0.0.1:${ports.grpc}`]);
    await using client = await A2AClient.connect(card, { headers: { authorization: "Bearer fresh" } });
    await client.listTasks();
    assert.equal(client.endpoint?.url, `127.0.0.1:${ports.grpc}`);
  });

  test("R-005 passes over interfaces whose address is none, and says so where there is no other", async () => {
    const good = ["HTTP+JSON", `http://127.0.0.1:${bed().server.ports.http}`] as const;
    const none = [
      ["GRPC", "agents:99999"],
      ["GRPC", ""],
      ["GRPC", "xds:///agents"],
      ["HTTP+JSON", "/a2a"],
      ["JSONRPC", "file:///a2a"],
    ] as const;
    const headers = { authorization: "Bearer fresh" };
    for (const one of none) {
      await using client = await A2AClient.connect(cardOf(one, good), { headers });
      await client.listTasks();
      assert.equal(client.endpoint?.url, good[1]);
      await using alone = await A2AClient.connect(cardOf(one), { headers });
      await assert.rejects(alone.listTasks(), (error: A2AError) => error.message.startsWith(`${JSON.stringify(one[1])} is no address of`));
    }
    await using other = await A2AClient.connect(cardOf(...none), { headers });
    await assert.rejects(other.listTasks(), /"agents:99999" is no address of a gRPC server/);
  });

  test("whose calls go to another interface lets the runs over the first one go on", async () => {
    const { ports } = bed().server;
    await using first = await TcpProxy.open({ port: ports.http });
    await using second = await TcpProxy.open({ port: ports.http });
    const urls = [first, second].map(({ port }) => `http://127.0.0.1:${port}`);
    let lost = 0;
    await using client = await A2AClient.connect(cardOf(...urls.map((url) => ["HTTP+JSON", url] as const)), {
      headers: { authorization: "Bearer fresh" },
      reconnecting: () => void (lost += 1),
    });
    first.refuse();
    const gate = bed().agent.gate();
    const run = client.send(`slow ${gate.name}`);
    await gate.reached;
    assert.equal(client.endpoint?.url, urls[1]);
    await first.heal();
    // The run keeps its connection; other calls get none there.
    second.refuse();
    await client.listTasks();
    await client.listTasks();
    assert.equal(client.endpoint?.url, urls[0]);
    gate.open();
    const task = await run;
    assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
    assert.equal(lost, 0);
  });

  test("asks for new credentials once where the old ones are refused", async () => {
    const asked: boolean[] = [];
    const credentials = ({ refresh }: { refresh: boolean }): Record<string, string> => {
      asked.push(refresh);
      return { authorization: `Bearer ${refresh ? "fresh" : "stale"}` };
    };
    const card = cardOf(["GRPC", `127.0.0.1:${bed().server.ports.grpc}`]);
    await using client = await A2AClient.connect(card, { credentials });
    await client.listTasks();
    assert.deepEqual(asked, [false, true]);
    await using other = await A2AClient.connect(card, { credentials: () => ({ authorization: "Bearer stale" }) });
    await assert.rejects(other.listTasks(), (error: A2AError) => error.reason === "UNAUTHENTICATED");
  });

  test("R-301 R-302 says the tenant of its interface, and none where there is none", async () => {
    const card = cardOf(["GRPC", `127.0.0.1:${bed().server.ports.grpc}`, "1.0", "acme"]);
    await using client = await A2AClient.connect(card, { headers: { authorization: "Bearer fresh" } });
    await assert.rejects(client.listTasks(), (error: A2AError) => error.violations[0]?.field === "tenant");
  });

  test("whose agent offers nothing that it speaks says so", async () => {
    await using client = await A2AClient.connect(cardOf(["JSONRPC", "http://localhost", "0.3"]));
    await assert.rejects(client.listTasks(), /no interface that this client speaks: it has JSONRPC 0.3/);
  });

  test("that could send nothing says why, and not that the work may have run", async () => {
    const card = cardOf(["HTTP+JSON", `http://127.0.0.1:${bed().server.ports.http}`]);
    const isCertain = (error: A2AError): boolean => error instanceof A2AError && !(error instanceof UnknownOutcomeError);
    await using wanting = await A2AClient.connect(card, { bindings: ["GRPC"] });
    const unable = (error: A2AError): boolean =>
      isCertain(error) && error.message === "the agent offers no GRPC interface, as was asked for: it has HTTP+JSON 1.0";
    await using locked = await A2AClient.connect(card, {
      credentials: () => {
        throw new Error("the vault is locked");
      },
    });
    for (const wait of ["stream", "poll", "block"] as const) {
      await assert.rejects(async () => wanting.send("complete", { wait }), unable);
      await assert.rejects(
        async () => locked.send("complete", { wait }),
        (error: A2AError) => isCertain(error) && error.message === "the vault is locked",
      );
    }
    await assert.rejects(async () => wanting.follow("a-task"), unable);
  });
});
