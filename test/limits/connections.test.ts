/** Connections: what comes slowly, says nothing, comes in floods or in too great numbers, on both ports. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as dial, type Socket } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { type Bed, openBed, sharedBed, taskOf, send } from "../bindings/bed.ts";
import {
  block,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  number,
  OPEN,
  PING,
  REQUEST,
  request,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from "../hostile/frames.ts";

const PORTS: Readonly<Record<string, (bed: Bed) => number>> = {
  "the gRPC port": ({ server }) => server.ports.grpc,
  "the HTTP port": ({ server }) => server.ports.http,
};
const CALL = {
  ":method": "POST",
  ":path": "/lf.a2a.v1.A2AService/ListTasks",
  "content-type": "application/grpc",
  te: "trailers",
  "a2a-version": "1.0",
};
const MiB = 1024 * 1024;
const TIMEOUT = { timeout: 60_000 };

function open(t: TestContext, port: number): Socket {
  const socket = dial({ port, host: "127.0.0.1" });
  t.after(() => socket.destroy());
  return socket.on("error", () => undefined);
}

/** Resolves when the server has closed the connection, with all that it said. */
async function closed(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  const end = new Promise((resolve) => socket.once("close", resolve));
  socket.on("data", (chunk) => chunks.push(chunk)).on("end", () => socket.end());
  await end;
  return Buffer.concat(chunks).toString("latin1");
}

async function session(t: TestContext, port: number): Promise<ClientHttp2Session> {
  const client = connect(`http://127.0.0.1:${port}`);
  t.after(() => client.destroy());
  client.on("error", () => undefined);
  await once(client, "remoteSettings");
  return client;
}

/** Everybody else is served. */
async function assertServed(bed: Bed): Promise<void> {
  for (const caller of bed.callers) taskOf(await caller.unary("SendMessage", send("complete")));
}

suite("a request that does not come in whole within requestMs", () => {
  const bed = sharedBed({ limits: { requestMs: 300 } });
  for (const [name, part] of Object.entries({
    "its head": "POST /jsonrpc HTTP/1.1\r\nhost: h\r\nx: ",
    "its body": "POST /jsonrpc HTTP/1.1\r\nhost: h\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{",
  })) {
    test(`is answered with 408 over HTTP/1.1, and its connection closed: ${name}`, TIMEOUT, async (t) => {
      const socket = open(t, bed().server.ports.http);
      socket.write(part);
      // A byte now and then is no whole request.
      const drip = setInterval(() => socket.write("x"), 50);
      t.after(() => clearInterval(drip));
      assert.match(await closed(socket), /^HTTP\/1\.1 408 /);
      await assertServed(bed());
    });
  }

  for (const [name, port] of Object.entries(PORTS)) {
    test(`has its stream reset over HTTP/2, and nothing else of its connection: ${name}`, TIMEOUT, async (t) => {
      const client = await session(t, port(bed()));
      const slow = client.request(CALL);
      slow.on("error", () => undefined).write(Buffer.of(0));
      const drip = setInterval(() => void (slow.closed || slow.write(Buffer.of(0))), 50);
      t.after(() => clearInterval(drip));
      await once(slow, "close");
      assert.equal(slow.rstCode, constants.NGHTTP2_CANCEL);
      const next = client.request(CALL);
      next.end(Buffer.alloc(5));
      const [headers] = (await once(next, "response")) as [Record<string, unknown>];
      assert.ok(headers[":status"] === 200 || headers[":status"] === 415);
    });

    for (const [what, bytes] of Object.entries({
      nothing: "",
      "the beginning of something": "PRI * HT",
      "HTTP/2 without settings": OPEN.subarray(0, 24),
    })) {
      test(`a connection that says ${what} is closed: ${name}`, TIMEOUT, async (t) => {
        const socket = open(t, port(bed()));
        socket.write(bytes);
        await closed(socket);
        await assertServed(bed());
      });
    }
  }
});

suite("connections without a stream for quietConnectionMs", () => {
  const bed = sharedBed({ limits: { quietConnectionMs: 300 } });
  for (const [name, port] of Object.entries(PORTS)) {
    test(`are told to go, and closed where the peer stays: ${name}`, TIMEOUT, async (t) => {
      const socket = open(t, port(bed()));
      socket.write(OPEN);
      const said = await closed(socket);
      assert.ok(Buffer.from(said, "latin1").includes(frame(7, 0, 0, Buffer.alloc(0)).subarray(3, 5)), "GOAWAY");
    });
  }

  test("are not those that have one, however quiet it is", TIMEOUT, async (t) => {
    const gate = bed().agent.gate();
    const { grpc } = bed();
    const stream = grpc.stream("SendStreamingMessage", send(`slow ${gate.name}`));
    await stream.next();
    await closed(
      open(t, bed().server.ports.grpc)
        .setTimeout(0)
        .on("connect", function connected(this: Socket) {
          this.write(OPEN);
        }),
    );
    gate.open();
    let last: unknown;
    for await (const each of stream) last = each;
    assert.match(
      JSON.stringify(last, (_, held: unknown) => (typeof held === "bigint" ? String(held) : held)),
      /"state":3/,
    );
  });
});

suite("connections and streams beyond their number", () => {
  for (const [name, port] of Object.entries(PORTS)) {
    test(`connections are closed at once, those that are there stay, and one that goes makes room: ${name}`, TIMEOUT, async (t) => {
      await using bed = await openBed({ limits: { connections: 3 } });
      const there = await Promise.all(Array.from({ length: 3 }, async () => session(t, port(bed))));
      const late = open(t, port(bed));
      late.write(OPEN);
      assert.equal(await closed(late), "");
      assert.ok(there.every((client) => !client.closed));
      there[0]?.destroy();
      for (let tries = 0; tries < 100; tries += 1) {
        const next = connect(`http://127.0.0.1:${port(bed)}`);
        next.on("error", () => undefined);
        t.after(() => next.destroy());
        const settled = await Promise.race([once(next, "remoteSettings").then(() => true), once(next, "close").then(() => false)]);
        if (settled) return;
      }
      assert.fail("there is no room");
    });

    test(`streams of a connection are announced, and refused: ${name}`, TIMEOUT, async (t) => {
      await using bed = await openBed({ limits: { streamsPerConnection: 7 } });
      const client = await session(t, port(bed));
      assert.equal(client.remoteSettings.maxConcurrentStreams, 7);
      const socket = open(t, port(bed));
      socket.write(Buffer.concat([OPEN, ...Array.from({ length: 20 }, (_, at) => request(2 * at + 1))]));
      const [said] = (await once(socket, "data")) as [Buffer];
      assert.ok(said.length > 0);
      await assertServed(bed);
    });
  }
});

const FLOODS: Readonly<Record<string, (at: number) => Buffer>> = {
  "PINGs that are answered": () => frame(PING, 0, 0, Buffer.alloc(8)),
  SETTINGS: () => frame(SETTINGS, 0, 0, Buffer.alloc(0)),
  "SETTINGS that change": (at) => frame(SETTINGS, 0, 0, Buffer.concat([Buffer.of(0, 4), number(60_000 + (at % 2))])),
  "streams that are reset at once": (at) => Buffer.concat([request(2 * at + 1), frame(RST_STREAM, 0, 2 * at + 1, number(8))]),
  "headers that never end": (at) => (at === 0 ? request(1, REQUEST, 0) : frame(CONTINUATION, 0, 1, block([["x", "y".repeat(100)]]))),
  "headers that never end, and are empty": (at) => (at === 0 ? request(1, REQUEST, 0) : frame(CONTINUATION, 0, 1, Buffer.alloc(0))),
};

/** What nothing ends: it costs its sender as much as the server. */
const HARMLESS: Readonly<Record<string, (at: number) => Buffer>> = {
  "heads of 100 kB, which are refused one by one": (at) =>
    Buffer.concat([
      frame(
        HEADERS,
        END_STREAM,
        2 * at + 1,
        block([...REQUEST, ...Array.from({ length: 100 }, (_, one) => [`x${one}`, "y".repeat(100)] as const)]),
      ),
      ...Array.from({ length: 5 }, () =>
        frame(CONTINUATION, 0, 2 * at + 1, block(Array.from({ length: 100 }, (_, one) => [`z${one}`, "y".repeat(100)] as const))),
      ),
      frame(CONTINUATION, END_HEADERS, 2 * at + 1, Buffer.alloc(0)),
    ]),
  "windows that grow": () => frame(WINDOW_UPDATE, 0, 0, number(1)),
  "empty pieces of one request": (at) => (at === 0 ? request(1) : frame(DATA, 0, 1, Buffer.alloc(0))),
  priorities: (at) => frame(2, 0, 2 * (at % 1000) + 1, Buffer.concat([number(0), Buffer.of(1)])),
  "frames of no type": () => frame(0xee, 0, 0, Buffer.alloc(100)),
};

/** Sends until so many bytes are out or the server has closed; answers whether it has. */
async function flood(socket: Socket, make: (at: number) => Buffer, bytes: number): Promise<boolean> {
  socket.on("data", () => undefined);
  socket.write(OPEN);
  for (let at = 0, sent = 0; sent < bytes && !socket.destroyed;) {
    const chunks: Buffer[] = [];
    for (let size = 0; size < 32 * 1024; at += 1) {
      const made = make(at);
      chunks.push(made);
      size += made.length;
    }
    const chunk = Buffer.concat(chunks);
    sent += chunk.length;
    if (socket.write(chunk) || socket.destroyed) continue;
    const done = new AbortController();
    const { signal } = done;
    await Promise.race([once(socket, "drain", { signal }), once(socket, "close", { signal })]).catch(() => undefined);
    done.abort();
  }
  await new Promise((resolve) => setTimeout(resolve, socket.destroyed ? 0 : 1000));
  return socket.destroyed;
}

for (const [name, port] of Object.entries(PORTS)) {
  suite(`a flood, on ${name}`, () => {
    const bed = sharedBed();
    for (const [what, make] of Object.entries({ ...FLOODS, ...HARMLESS })) {
      const ends = Object.hasOwn(FLOODS, what);
      test(`${ends ? "ends its connection" : "costs no memory"}, and others are served meanwhile: ${what}`, TIMEOUT, async (t) => {
        await assertServed(bed());
        const before = process.memoryUsage().rss;
        const flooding = flood(open(t, port(bed())), make, (ends ? 64 : 8) * MiB);
        await assertServed(bed());
        const over = await flooding;
        if (ends) assert.ok(over, "the connection is still there");
        await assertServed(bed());
        const grown = process.memoryUsage().rss - before;
        assert.ok(grown < 200 * MiB, `${Math.round(grown / MiB)} MiB`);
      });
    }
  });
}
