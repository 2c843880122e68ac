/** Each fault of the TCP proxy does what it says, in front of a real redis-server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { redisServer } from "./redis-server.ts";
import { TcpProxy } from "./tcp-proxy.ts";

interface Bed extends AsyncDisposable {
  readonly proxy: TcpProxy;
  /** Straight to the server. */
  readonly direct: Redis;
  /** Through the proxy; sends nothing twice. */
  readonly client: Redis;
}

async function openBed(): Promise<Bed> {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await redisServer());
  const proxy = stack.use(await TcpProxy.open(server));
  const cautious = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 300, disconnectTimeout: 50 };
  const client = server.client({ ...cautious, port: proxy.port });
  await client.ping();
  return { proxy, client, direct: server.client(), [Symbol.asyncDispose]: async () => stack.disposeAsync() };
}

test("a dropped reply: the command was executed once, and its caller got an error", async () => {
  await using bed = await openBed();
  const dropped = bed.proxy.dropNextReply({ match: (request) => request.includes("counter") });
  assert.equal(await bed.client.ping(), "PONG");
  await assert.rejects(bed.client.incr("counter"));
  await dropped;
  assert.equal(await bed.direct.get("counter"), "1");
  assert.equal(bed.proxy.droppedReplies, 1);
  await once(bed.client, "ready");
  assert.equal(await bed.client.incr("counter"), 2);
});

test("a dropped reply behind others of a pipeline: its command was executed nonetheless", async () => {
  await using bed = await openBed();
  const dropped = bed.proxy.dropNextReply({ match: (request) => request.includes("counter") });
  const large = Buffer.alloc(3_000_000, "x");
  const settled = await Promise.allSettled([bed.client.set("large", large), bed.client.get("large"), bed.client.incr("counter")]);
  await dropped;
  assert.equal(settled[2].status, "rejected");
  assert.equal(await bed.direct.get("counter"), "1");
});

test("a drop that found no request rejects when the proxy is healed", async () => {
  await using bed = await openBed();
  const dropped = bed.proxy.dropNextReply();
  await bed.proxy.heal();
  await assert.rejects(dropped, /No matching request/);
  assert.equal(await bed.client.ping(), "PONG");
});

test("cut resets open connections and accepts new ones", async () => {
  await using bed = await openBed();
  const failed = once(bed.client, "error");
  bed.proxy.cut();
  const [error] = await failed;
  assert.match(String(error), /ECONNRESET/);
  await once(bed.client, "ready");
  assert.equal(await bed.client.ping(), "PONG");
  assert.equal(bed.proxy.accepted, 2);
});

test("redirected: open connections stay with their server, new ones reach the other", async () => {
  await using bed = await openBed();
  await using other = await redisServer();
  await bed.client.set("where", "here");
  bed.proxy.redirect(other);
  assert.equal(await bed.client.get("where"), "here");
  const late = other.client({ port: bed.proxy.port });
  assert.equal(await late.get("where"), null);
});

test("finished: both sides are told that the other is done, after what was on its way; new connections are accepted", async () => {
  await using bed = await openBed();
  const large = Buffer.alloc(300_000, "x");
  await bed.direct.set("large", large);
  await using socket = connect(bed.proxy.port, "127.0.0.1");
  socket.write("GET large\r\n");
  await once(socket, "readable");
  bed.proxy.finish();
  const { length } = await text(socket);
  assert.ok(length <= large.length + "$300000\r\n\r\n".length);
  await once(bed.client, "ready");
  assert.equal(await bed.client.ping(), "PONG");
});

test("idle: a connection is ended when nothing has been said for so long, and not before", async () => {
  await using bed = await openBed();
  bed.proxy.idle(1500);
  // What is said meanwhile keeps it open.
  for (let count = 0; count < 30; count += 1) await Promise.all([bed.client.ping(), delay(75)]);
  const before = bed.proxy.accepted;
  await once(bed.client, "close");
  assert.equal(bed.proxy.idled, 1);
  await once(bed.client, "ready");
  assert.equal(bed.proxy.accepted, before + 1);
});

test("refused: open connections stay, new ones fail until accepted again", async () => {
  await using bed = await openBed();
  bed.proxy.refuse();
  assert.equal(await bed.client.ping(), "PONG");
  const late = connect(bed.proxy.port, "127.0.0.1");
  await assert.rejects(once(late, "connect"), /ECONNREFUSED/);
  await bed.proxy.accept();
  await using again = connect(bed.proxy.port, "127.0.0.1");
  await once(again, "connect");
});

test("delay holds back both directions and keeps their order", async () => {
  await using bed = await openBed();
  bed.proxy.delay(40);
  const started = performance.now();
  const replies = await Promise.all([1, 2, 3].map(async () => bed.client.incr("counter")));
  const tookMs = performance.now() - started;
  assert.deepEqual(replies, [1, 2, 3]);
  assert.ok(tookMs >= 80 && tookMs < 280, `${tookMs} ms`);
});

test("half open: nothing arrives and nobody is told; healed, the connection is reset", async () => {
  await using bed = await openBed();
  const clients = async (): Promise<number> => Number(/connected_clients:(\d+)/.exec(await bed.direct.info("clients"))?.[1]);
  bed.proxy.halfOpen();
  await assert.rejects(bed.client.incr("counter"), /timed out/);
  assert.equal(bed.client.status, "ready");
  bed.client.disconnect();
  await once(bed.client, "end");
  assert.equal(await clients(), 2, "the server still holds the connection");
  await bed.proxy.heal();
  await bed.client.connect();
  assert.equal(await bed.client.incr("counter"), 1, "what was swallowed never arrived");
});

test("paused replies: requests are carried out, replies come later", async () => {
  await using bed = await openBed();
  bed.proxy.pauseReplies();
  const reply = bed.client.incr("counter");
  while ((await bed.direct.get("counter")) !== "1");
  assert.equal(await Promise.race([reply, bed.direct.get("counter")]), "1", "the direct read is first");
  bed.proxy.resumeReplies();
  assert.equal(await reply, 1);
});

test("a reader that does not read stops the server, not the proxy's memory", async () => {
  await using bed = await openBed();
  await bed.direct.set("large", Buffer.alloc(64 * 1024 * 1024, "x"));
  bed.proxy.pauseReplies();
  await using socket = connect(bed.proxy.port, "127.0.0.1");
  const before = process.memoryUsage().arrayBuffers;
  socket.write("GET large\r\n");
  while (!/ omem=[1-9]/.test(String(await bed.direct.client("LIST"))));
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024);
  bed.proxy.resumeReplies();
  let missing = 64 * 1024 * 1024 + "$67108864\r\n\r\n".length;
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    missing -= chunk.length;
    if (missing === 0) resolve();
  });
  await complete;
});

test("the proxy is a byte pipe for HTTP too", async () => {
  let calls = 0;
  await using web = createServer((_request, response) => response.end(`call ${++calls}`)).listen(0, "127.0.0.1");
  await once(web, "listening");
  const address = web.address();
  assert.ok(address !== null && typeof address === "object");
  await using proxy = await TcpProxy.open(address);
  const url = `http://127.0.0.1:${proxy.port}/`;
  const dropped = proxy.dropNextReply({ match: (request) => request.includes("POST /") });
  assert.equal(await (await fetch(url)).text(), "call 1");
  await assert.rejects(fetch(url, { method: "POST", body: "x" }));
  await dropped;
  assert.equal(await (await fetch(url)).text(), "call 3");
});

test("the proxy drops the reply of one gRPC-like request over HTTP/2", async () => {
  const bodies: string[] = [];
  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    bodies.push(await text(request));
    response.end("done");
  };
  await using web = createHttp2Server((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(web, "listening");
  const address = web.address();
  assert.ok(address !== null && typeof address === "object");
  await using proxy = await TcpProxy.open(address);
  const session = connectHttp2(`http://127.0.0.1:${proxy.port}`);
  session.on("error", () => undefined);
  const call = async (body: string): Promise<string> => text(session.request({ ":method": "POST" }).end(body));
  const dropped = proxy.dropNextReply({ match: (request) => request.includes("second") });
  assert.equal(await call("first"), "done");
  const lost = call("second");
  await dropped;
  // Node may end the stream of a lost session without an error.
  assert.notEqual(await lost.catch(() => "failed"), "done");
  assert.deepEqual(bodies, ["first", "second"]);
});
