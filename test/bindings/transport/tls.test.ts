import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { Code } from "@connectrpc/connect";
import { createGrpcTransport } from "../../../src/bindings/grpc/transport.ts";
import { makeCertificates } from "../../certificates.ts";
import { removeFolder, temporaryFolder } from "../../redis/child-guard.ts";
import { type Bed, openBed } from "../bed.ts";
import { client, factsOf, type Ports, sendOf, watch, WAYS } from "./ways.ts";

/** Takes connections, with TLS or without, and passes their bytes on to a port. */
class Relay implements AsyncDisposable {
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number, tls: TlsOptions | undefined) {
    const relay = (socket: Socket): void => {
      const onward = connect(target, "127.0.0.1");
      for (const one of [socket, onward]) this.#sockets.add(one.on("error", () => undefined));
      socket.pipe(onward).pipe(socket);
      socket.once("close", () => onward.destroy());
      onward.once("close", () => socket.destroy());
    };
    this.#server = tls === undefined ? createServer(relay) : createTlsServer(tls, relay).on("tlsClientError", () => undefined);
  }

  static async open(target: number, at: number | string, tls?: TlsOptions): Promise<Relay> {
    const relay = new Relay(target, tls);
    await once(typeof at === "string" ? relay.#server.listen(at) : relay.#server.listen(at, "127.0.0.1"), "listening");
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

suite("TLS", () => {
  const folder = temporaryFolder("transport-tls");
  let bed: Bed;
  let pem: Readonly<Record<"ca" | "cert" | "key", Buffer>>;
  before(async () => {
    bed = await openBed();
    const { ca, cert, key } = makeCertificates(folder, "IP:127.0.0.1,DNS:agent.test");
    pem = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
  });
  after(async () => {
    await bed[Symbol.asyncDispose]();
    removeFolder(folder);
  });

  /** Relays that speak TLS before both ports. */
  async function secured(options: TlsOptions = {}): Promise<{ ports: Ports } & AsyncDisposable> {
    const tls = { cert: pem.cert, key: pem.key, ALPNProtocols: ["h2", "http/1.1"], ...options };
    const [grpc, http] = [await Relay.open(bed.server.ports.grpc, 0, tls), await Relay.open(bed.server.ports.http, 0, tls)];
    const dispose = async (): Promise<void> => void (await Promise.all([grpc, http].map((relay) => relay[Symbol.asyncDispose]())));
    return { ports: { grpc: grpc.port, http: http.port }, [Symbol.asyncDispose]: dispose };
  }

  for (const way of WAYS) {
    test(`https: speaks TLS, and trusts the given authority and no other (${way.name})`, async () => {
      await using relays = await secured();
      using trusting = client(way.open(relays.ports, { tls: { ca: pem.ca } }, "https"));
      assert.equal((await watch(trusting.client.sendStreamingMessage(sendOf("complete")))).end, "clean");
      assert.equal((await factsOf(trusting.client.getTask({ id: "x" }))).reason, "TASK_NOT_FOUND");
      using careful = client(way.open(relays.ports, {}, "https"));
      const { code, unreached, message } = await factsOf(careful.client.getTask({ id: "x" }));
      assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
      assert.match(message, /certificate/);
    });

    test(`the certificate is to have the name of the server, which may be given (${way.name})`, async () => {
      await using relays = await secured();
      const tls = { ca: pem.ca };
      using named = client(way.open(relays.ports, { tls: { ...tls, serverName: "agent.test" } }, "https"));
      assert.equal((await factsOf(named.client.getTask({ id: "x" }))).reason, "TASK_NOT_FOUND");
      using wrong = client(way.open(relays.ports, { tls: { ...tls, serverName: "other.test" } }, "https"));
      const { code, unreached, message } = await factsOf(wrong.client.getTask({ id: "x" }));
      assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
    });

    test(`a certificate of its own is shown where one is asked for (${way.name})`, async () => {
      await using relays = await secured({ requestCert: true, ca: pem.ca, minVersion: "TLSv1.2", maxVersion: "TLSv1.2" });
      using known = client(way.open(relays.ports, { tls: pem }, "https"));
      assert.equal((await factsOf(known.client.getTask({ id: "x" }))).reason, "TASK_NOT_FOUND");
      using unknown = client(way.open(relays.ports, { tls: { ca: pem.ca } }, "https"));
      assert.equal((await factsOf(unknown.client.getTask({ id: "x" }))).code, Code.Unavailable);
    });

    test(`a server without TLS is not reached by it (${way.name})`, async () => {
      using opened = client(way.open(bed.server.ports, { tls: { ca: pem.ca } }, "https"));
      const { code, unreached, message } = await factsOf(opened.client.getTask({ id: "x" }));
      assert.deepEqual([code, unreached], [Code.Unavailable, true], message);
    });
  }

  test("C-48 gRPC takes TLS or not by its scheme, or as it is told", async () => {
    await using relays = await secured();
    const headers = { "a2a-version": "1.0" };
    const socket = join(tmpdir(), `throughline-${process.pid}.sock`);
    await using _relay = await Relay.open(bed.server.ports.grpc, socket);
    const [plain, tls] = [bed.server.ports.grpc, relays.ports.grpc];
    const certificates = { tls: { ca: pem.ca } };
    for (const [url, options] of [
      [`http://127.0.0.1:${plain}`, {}],
      [`http://127.0.0.1:${plain}/`, {}],
      [`127.0.0.1:${plain}`, { plaintext: true }],
      [`localhost:${plain}`, { plaintext: true }],
      [`dns:///localhost:${plain}`, { plaintext: true }],
      [`dns:127.0.0.1:${plain}`, { plaintext: true }],
      [`ipv4:127.0.0.1:${plain}`, { plaintext: true }],
      [`https://127.0.0.1:${plain}`, { plaintext: true }],
      [`unix:${socket}`, {}],
      [`https://127.0.0.1:${tls}`, certificates],
      [`127.0.0.1:${tls}`, certificates],
      [`dns:///127.0.0.1:${tls}`, certificates],
      [`http://127.0.0.1:${tls}`, { ...certificates, plaintext: false }],
    ] as const) {
      using opened = client(createGrpcTransport({ url, headers, ...options }));
      const { reason, message } = await factsOf(opened.client.getTask({ id: "x" }));
      assert.equal(reason, "TASK_NOT_FOUND", `${url}: ${message}`);
    }
  });
});

test("C-48 what is no address of a gRPC server is refused at once", () => {
  for (const url of [
    "",
    "agent example",
    "ftp://agent",
    "https://agent/path",
    "https://agent?q",
    "agent/path",
    "user@agent:1",
    "agent:port",
    "agent:65536",
    "/x",
  ]) {
    assert.throws(() => createGrpcTransport({ url }), TypeError, url);
  }
  for (const url of ["agent", "agent.example:50051", "[::1]:50051", "https://[::1]", "dns://1.1.1.1/agent"])
    createGrpcTransport({ url }).close();
});
