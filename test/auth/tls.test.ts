/** TLS on both ports: who gets a connection, and what changes while connections are open. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import type { IncomingMessage } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { A2AClient, TaskState } from "../../src/client/index.ts";
import { type Log, SILENT } from "../../src/core/telemetry.ts";
import { OptionsError } from "../../src/server/options.ts";
import { type Bed, brief, openBed } from "../bindings/bed.ts";
import { frameJson } from "../bindings/callers/caller.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { client, factsOf, sendOf, watch, WAYS } from "../bindings/transport/ways.ts";
import { Authority, type Certificates } from "../certificates.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

const NAMES = { names: "IP:127.0.0.1,DNS:agent.test" };
const folder = temporaryFolder("auth-tls");
after(() => removeFolder(folder));

const authority = new Authority(folder);
const ca = readFileSync(authority.ca);

function filesOf({ cert, key }: Certificates): { cert: string; key: string } {
  return { cert, key };
}

/** A TLS connection to a port, established. */
async function opened(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2", "http/1.1"], ...options });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** Whether a connection to a port comes about. */
async function isLetIn(port: number, options: ConnectionOptions): Promise<boolean> {
  try {
    const socket = await opened(port, options);
    socket.destroy();
    return true;
  } catch {
    return false;
  }
}

/** A reply over HTTP/1.1. */
async function fetched(
  port: number,
  path: string,
  method = "GET",
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  const request = httpsRequest({ port, host: "127.0.0.1", path, method, ca, agent: false, headers: { "a2a-version": "1.0" } });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

suite("a server with TLS", () => {
  let bed: Bed;
  before(async () => {
    bed = await openBed({ tls: filesOf(authority.issue("server", NAMES)) });
  });
  after(() => bed[Symbol.asyncDispose]());

  for (const way of WAYS) {
    test(`R-361 serves whoever trusts its authority, on both ports (${way.name})`, async () => {
      using trusting = client(way.open(bed.server.ports, { tls: { ca } }, "https"));
      assert.equal((await watch(trusting.client.sendStreamingMessage(sendOf("complete")))).end, "clean");
      using careful = client(way.open(bed.server.ports, {}, "https"));
      assert.equal((await factsOf(careful.client.getTask({ id: "x" }))).code, Code.Unavailable);
      using plain = client(way.open(bed.server.ports));
      assert.equal((await factsOf(plain.client.getTask({ id: "x" }))).code, Code.Unavailable);
    });
  }

  test("R-321 R-324 C-48 its card comes over HTTPS and names HTTPS, and gRPC with TLS by host and port; clients follow it", async () => {
    const { grpc, http } = bed.server.ports;
    const { text } = await fetched(http, "/.well-known/agent-card.json");
    const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: JsonObject[] };
    assert.deepEqual(
      supportedInterfaces.map(({ url }) => url),
      [`127.0.0.1:${grpc}`, `https://127.0.0.1:${http}`, `https://127.0.0.1:${http}/jsonrpc`],
    );
    const tls = { ca: ca.toString() };
    // By the URL of the card, and with a card that nobody fetched.
    for (const agent of [`https://127.0.0.1:${http}`, bed.server.card]) {
      for (const binding of ["GRPC", "HTTP+JSON", "JSONRPC", "CONNECT"] as const) {
        await using caller = await A2AClient.connect(agent, { tls, bindings: [binding] });
        const answer = await caller.send("complete");
        assert.equal("status" in answer && answer.status?.state, TaskState.COMPLETED, binding);
      }
    }
  });

  test("speaks HTTP/2 and HTTP/1.1 as the client chooses, and HTTP/1.1 where it does not say", async () => {
    const { http } = bed.server.ports;
    for (const [offered, chosen] of [
      [["h2", "http/1.1"], "h2"],
      [["http/1.1"], "http/1.1"],
      [undefined, false],
    ] as const) {
      const socket = await opened(http, { ALPNProtocols: offered === undefined ? [] : [...offered] });
      assert.equal(socket.alpnProtocol, chosen);
      if (chosen !== "h2") {
        socket.end("GET /.well-known/agent-card.json HTTP/1.1\r\nhost: agent.test\r\nconnection: close\r\n\r\n");
        const [first] = (await once(socket, "data")) as [Buffer];
        assert.match(first.toString(), /^HTTP\/1\.1 200 /);
      }
      socket.destroy();
    }
    const session: ClientHttp2Session = connectHttp2(`https://127.0.0.1:${http}`, { ca });
    const stream = session.request({ ":path": "/.well-known/agent-card.json" });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(headers[":status"], 200);
    session.destroy();
  });

  test("R-362 C-50 takes TLS 1.2 and 1.3 with forward secrecy, nothing older and nothing weaker", async () => {
    for (const port of [bed.server.ports.grpc, bed.server.ports.http]) {
      const old = "DEFAULT@SECLEVEL=0";
      assert.ok(await isLetIn(port, { minVersion: "TLSv1.3" }));
      assert.ok(await isLetIn(port, { maxVersion: "TLSv1.2" }));
      assert.ok(!(await isLetIn(port, { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: old })));
      assert.ok(!(await isLetIn(port, { minVersion: "TLSv1", maxVersion: "TLSv1", ciphers: old })));
      for (const ciphers of ["AES128-SHA256", "ECDHE-ECDSA-AES128-SHA", "AES256-GCM-SHA384"])
        assert.ok(!(await isLetIn(port, { maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` })), ciphers);
    }
  });

  test("R-364 says on every HTTPS reply that browsers are to come back by HTTPS", async () => {
    const { http } = bed.server.ports;
    for (const path of ["/.well-known/agent-card.json", "/tasks/x", "/nothing", "/openapi.json"]) {
      const { headers } = await fetched(http, path);
      assert.equal(headers["strict-transport-security"], "max-age=31536000", path);
    }
  });

  test("answers nothing to those who speak no TLS, and goes on", async () => {
    for (const port of [bed.server.ports.grpc, bed.server.ports.http]) {
      const socket = connectTcp(port, "127.0.0.1", () => void socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
      socket.on("error", () => undefined);
      let heard = "";
      socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
      await once(socket, "close");
      assert.ok(!heard.includes("HTTP/"));
      assert.ok(await isLetIn(port, {}));
    }
  });
});

test("R-364 nothing is said of HTTPS without TLS, nor where the operator says so", async () => {
  await using plain = await openBed();
  const card = await plain.rest.http.fetch({ method: "GET", target: "/.well-known/agent-card.json" });
  assert.equal(card.headers.get("strict-transport-security"), undefined);
  await using quiet = await openBed({ tls: { ...filesOf(authority.issue("quiet", NAMES)), hstsMaxAgeSeconds: 0 } });
  const { headers } = await fetched(quiet.server.ports.http, "/.well-known/agent-card.json");
  assert.equal(headers["strict-transport-security"], undefined);
});

test("R-362 TLS 1.3 alone is taken where the operator says so", async () => {
  await using bed = await openBed({ tls: { ...filesOf(authority.issue("newest", NAMES)), minVersion: "TLSv1.3" } });
  for (const port of [bed.server.ports.grpc, bed.server.ports.http]) {
    assert.ok(await isLetIn(port, {}));
    assert.ok(!(await isLetIn(port, { maxVersion: "TLSv1.2" })));
  }
});

test("clients take no certificate of another name than the server's, be that an address", async () => {
  await using bed = await openBed({ tls: filesOf(authority.issue("elsewhere", { names: "IP:127.0.0.2,DNS:agent.test" })) });
  for (const way of WAYS) {
    using wrong = client(way.open(bed.server.ports, { tls: { ca } }, "https"));
    assert.equal((await factsOf(wrong.client.listTasks({}))).code, Code.Unavailable, way.name);
    using right = client(way.open(bed.server.ports, { tls: { ca, serverName: "agent.test" } }, "https"));
    await right.client.listTasks({});
  }
});

/** What a server logs, as it comes. */
class Lines {
  readonly log: Log = {
    ...SILENT,
    info: (_facts, message) => this.#add(message),
    warn: (_facts, message) => this.#add(message),
  };
  readonly #lines: string[] = [];
  #added = Promise.withResolvers<void>();

  /** Resolves when a line has come that fits. */
  async heard(pattern: RegExp): Promise<void> {
    while (!this.#lines.some((line) => pattern.test(line))) await this.#added.promise;
  }

  count(pattern: RegExp): number {
    return this.#lines.filter((line) => pattern.test(line)).length;
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#added.resolve();
    this.#added = Promise.withResolvers();
  }
}

async function serialOf(port: number): Promise<string> {
  const socket = await opened(port);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

test(
  "R-372 certificates are read again when their files change: new connections have the new one, streams on old ones go on",
  { timeout: 60_000 },
  async () => {
    const [one, other] = [authority.issue("one", NAMES), authority.issue("other", NAMES)];
    const files = { cert: join(folder, "live.pem"), key: join(folder, "live.key") };
    copyFileSync(one.cert, files.cert);
    copyFileSync(one.key, files.key);
    const lines = new Lines();
    const agent = new ScenarioAgent();
    await using bed = await openBed({ tls: { ...files, reloadMs: 10 }, log: lines.log }, agent);
    const ports = [bed.server.ports.grpc, bed.server.ports.http] as const;
    const first = await serialOf(ports[0]);

    await using open = new AsyncDisposableStack();
    const streams = await Promise.all(
      WAYS.map(async (way) => {
        const gate = agent.gate();
        const { client: caller } = open.adopt(client(way.open(bed.server.ports, { tls: { ca } }, "https")), async (one_) =>
          one_[Symbol.dispose](),
        );
        const stream = caller.sendStreamingMessage(sendOf(`slow ${gate.name}`))[Symbol.asyncIterator]();
        assert.ok((await stream.next()).done !== true);
        return { way, gate, stream };
      }),
    );

    // The key first: for a while the files do not fit together.
    copyFileSync(other.key, files.key);
    await lines.heard(/cannot be used/);
    for (const port of ports) assert.equal(await serialOf(port), first);
    copyFileSync(other.cert, files.cert);
    await lines.heard(/certificate that is in the files now/);
    const second = await serialOf(ports[0]);
    assert.notEqual(second, first);
    assert.equal(await serialOf(ports[1]), second);
    assert.equal(lines.count(/cannot be used/), 1);

    writeFileSync(files.cert, "not a certificate");
    await lines.heard(/cannot be used/);
    assert.equal(await serialOf(ports[1]), second);

    for (const { way, gate, stream } of streams) {
      gate.open();
      const frames: string[] = [];
      for (let next = await stream.next(); next.done !== true; next = await stream.next()) frames.push(brief(frameJson(next.value)));
      assert.equal(frames.at(-1), "status COMPLETED", way.name);
    }
  },
);

test("a connection that never says anything does not keep a server with TLS from closing", async () => {
  const bed = await openBed({ tls: filesOf(authority.issue("silent", NAMES)) });
  const sockets = [bed.server.ports.grpc, bed.server.ports.http].map((port) => connectTcp(port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const idle = await opened(bed.server.ports.http);
  const closed = [...sockets, idle].map((socket) => once(socket.resume(), "close"));
  await bed[Symbol.asyncDispose]();
  await Promise.all(closed);
  assert.equal(bed.server.state, "closed");
});

test("files that cannot be used are named before any port is bound", async () => {
  const [one, other] = [authority.issue("a", NAMES), authority.issue("b", NAMES)];
  const garbage = join(folder, "garbage.pem");
  writeFileSync(garbage, "nothing");
  const otherKind = join(folder, "ed25519.key");
  writeFileSync(otherKind, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
  for (const [tls, message] of [
    [{ cert: join(folder, "none.pem"), key: one.key }, /^tls\.cert: cannot read .*none\.pem$/],
    [{ cert: one.cert, key: other.key }, /^tls\.key: .* is not the key of the certificate/],
    [{ cert: one.cert, key: otherKind }, /^tls\.key: .* is not the key of the certificate/],
    [{ cert: garbage, key: one.key }, /^tls\.cert: .* holds no certificate in PEM$/],
    [{ cert: one.cert, key: one.key, clientCa: garbage }, /^tls\.clientCa: .* holds no certificate/],
    [{ cert: one.cert }, /^tls\.key: tls\.cert and tls\.key go together$/],
    [{ clientCa: one.cert }, /^tls\.clientCa: has no effect without tls\.cert$/],
  ] as const) {
    await assert.rejects(openBed({ tls }), (error: unknown) => error instanceof OptionsError && message.test(error.message));
  }
});
