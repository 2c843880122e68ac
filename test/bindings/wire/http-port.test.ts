import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { suite, test } from "node:test";
import { listener } from "../../../src/bindings/http.ts";
import { CONNECTION_BOUNDS } from "../../../src/bindings/connection-bounds.ts";
import { sendJson } from "../../../src/bindings/http-exchange.ts";
import { HttpPort, type HttpPortOptions } from "../../../src/bindings/http-port.ts";
import { Egress } from "../../../src/bindings/progress.ts";
import { Http2Client } from "../callers/http2.ts";

const SLOW = { egress: new Egress(1024 * 1024), maxQueuedBytes: 65_536, stalledStreamMs: 60_000, stallFlushMs: 1000 };
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const GET = "GET /it HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/** A port that answers every request with its version. */
class Port implements AsyncDisposable {
  readonly #port: HttpPort;
  number = 0;

  constructor(options: Partial<HttpPortOptions> = {}) {
    const answer = listener(
      [
        async (exchange) => {
          sendJson(exchange, 200, "text/plain", `${"stream" in exchange.request ? "HTTP/2" : "HTTP/1.1"} ${exchange.path}`);
          return true;
        },
      ],
      SLOW,
      (error) => assert.fail(error as Error),
    );
    this.#port = new HttpPort(answer, { idleConnectionMs: 60_000, keepaliveMs: 60_000, keepaliveTimeoutMs: 60_000, ...options });
  }

  static async open(options: Partial<HttpPortOptions> = {}): Promise<Port> {
    const port = new Port(options);
    port.number = await port.#port.listen(0, "127.0.0.1");
    return port;
  }

  connect(): Socket {
    return connect({ port: this.number, host: "127.0.0.1", noDelay: true });
  }

  close(): Promise<void> {
    return this.#port.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.close();
    this.#port.closeAllConnections();
    await closed;
  }
}

/** Everything that the server says until it closes. */
async function textOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** Sends and goes on when the server has read it: it has answered another connection since. */
async function sendAlone(port: Port, socket: Duplex, bytes: string | Buffer): Promise<void> {
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  const other = port.connect();
  other.write(GET);
  assert.match(await textOf(other), /^HTTP\/1\.1 200 /);
}

/** A socket whose first bytes are sent in two pieces. */
function cutAfter(port: Port, length: number): Duplex {
  const socket = port.connect();
  let begun = false;
  const duplex = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const first = begun ? 0 : length;
      begun = true;
      const alone = first === 0 ? Promise.resolve() : sendAlone(port, socket, chunk.subarray(0, first));
      void alone.then(() => socket.write(chunk.subarray(first), done));
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk) => duplex.push(chunk)).on("close", () => duplex.destroy());
  return duplex;
}

suite("the HTTP port", () => {
  test("serves HTTP/2 wherever its preface is cut", async () => {
    await using port = await Port.open();
    for (let length = 1; length <= PREFACE.length; length += 1) {
      const client = new Http2Client(port.number, { socket: cutAfter(port, length) });
      const { status, text } = await client.fetch({ method: "GET", target: "/it" });
      assert.deepEqual([status, text], [200, "HTTP/2 /it"], `cut after ${length}`);
      client.close();
    }
  });

  test("serves HTTP/1.1 wherever a request is cut, however much it begins like HTTP/2", async () => {
    await using port = await Port.open();
    for (const method of ["GET", "POST", "PUT", "PROPFIND"]) {
      const request = `${method} /it HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
      for (let length = 1; length <= 10; length += 1) {
        const socket = port.connect();
        await sendAlone(port, socket, request.slice(0, length));
        socket.write(request.slice(length));
        assert.match(await textOf(socket), /^HTTP\/1\.1 200 .*HTTP\/1\.1 \/it$/s, `${method} cut after ${length}`);
      }
    }
  });

  test("takes a request that comes byte by byte, and the next one on the same connection", async () => {
    await using port = await Port.open();
    const socket = port.connect();
    for (const byte of "GET /one HTTP/1.1\r\nhost: x\r\n\r\n") await sendAlone(port, socket, byte);
    const [first] = (await once(socket, "data")) as [Buffer];
    assert.match(String(first), /HTTP\/1\.1 \/one$/);
    socket.write(GET);
    assert.match(await textOf(socket), /HTTP\/1\.1 \/it$/);
  });

  test("answers what is neither with 400, and closes", async () => {
    await using port = await Port.open();
    const clientHello = Buffer.from("16030100f1010000ed0303", "hex");
    for (const garbage of [
      "\0\0\0",
      "PRI * HTTP/1.1\r\nhost: x\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
      "hello\r\n\r\n",
      clientHello,
    ]) {
      const socket = port.connect();
      socket.end(garbage);
      assert.match(await textOf(socket), /^HTTP\/1\.1 400 /, JSON.stringify(garbage));
    }
  });

  test("drops a connection that ends before it has said what it speaks", async () => {
    await using port = await Port.open();
    for (const beginning of ["", "P", "PRI * HTTP/2.0\r\n"]) {
      const socket = port.connect();
      socket.end(beginning);
      assert.equal(await textOf(socket), "");
    }
  });

  test("drops a connection that does not say what it speaks", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await using port = await Port.open();
    const sockets = ["", "PRI"].map((beginning) => {
      const socket = port.connect();
      socket.write(beginning);
      return socket;
    });
    // Both were accepted once a later connection was served.
    await sendAlone(port, sockets[1] as Socket, " ");
    const ends = sockets.map(textOf);
    t.mock.timers.tick(CONNECTION_BOUNDS.requestMs);
    assert.deepEqual(await Promise.all(ends), ["", ""]);
  });

  test("closes what is idle when it closes: connections of both versions, and those that have said nothing", async () => {
    await using port = await Port.open();
    const silent = port.connect();
    await once(silent, "connect");
    const http1 = port.connect();
    http1.write("GET /it HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(http1, "data");
    const http2 = new Http2Client(port.number);
    await http2.fetch({ method: "GET", target: "/it" });
    const goaway = once(http2.session, "goaway");
    const ends = [silent, http1].map(textOf);
    await port.close();
    assert.deepEqual(await Promise.all(ends), ["", ""]);
    assert.equal((await goaway)[0], 0);
  });

  test("closes an HTTP/2 connection whose peer leaves PINGs without an answer, and no other", async () => {
    await using port = await Port.open({ keepaliveMs: 20, keepaliveTimeoutMs: 3000 });
    const good = new Http2Client(port.number);
    const pings = once(good.session, "ping");
    const deaf = port.connect();
    deaf.write(PREFACE);
    deaf.write(EMPTY_SETTINGS);
    await textOf(deaf);
    await pings;
    assert.equal((await good.fetch({ method: "GET", target: "/it" })).status, 200);
    good.close();
  });
});
