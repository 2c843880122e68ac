/** Replies that nobody reads: bounded in memory, by connection and over all, and cut where they stay. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { connect as dial } from "node:net";
import { suite, test } from "node:test";
import { toBinary, create } from "@bufbuild/protobuf";
import { GetTaskRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Turn } from "../../src/core/agent.ts";
import { type AgentEvent, artifact, textPart } from "../../src/core/events.ts";
import { UnreadReplies } from "../../src/bindings/unread-replies.ts";
import { type Bed, openBed, send, taskOf } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";

const KB = 1024;
/** What gRPC takes for RESOURCE_EXHAUSTED. */
const ENHANCE_YOUR_CALM = 11;
const REPLY = 200 * KB;
const CALLS = 100;

class Large extends ScenarioAgent {
  override async *run(turn: Turn): AsyncGenerator<AgentEvent> {
    yield artifact({ artifactId: turn.taskId, parts: [textPart("x".repeat(REPLY))] });
  }
}

/** How a call that reads the task is written on each port over HTTP/2. */
const FORMS: Readonly<
  Record<string, { port: (bed: Bed) => number; open: (session: ClientHttp2Session, id: string) => ClientHttp2Stream }>
> = {
  gRPC: {
    port: ({ server }) => server.ports.grpc,
    open: (session, id) => {
      const bytes = toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id }));
      const head = Buffer.alloc(5);
      head.writeUInt32BE(bytes.length, 1);
      const headers = { ":method": "POST", ":path": "/lf.a2a.v1.A2AService/GetTask", "content-type": "application/grpc", te: "trailers" };
      return session.request({ ...headers, "a2a-version": "1.0" }).end(Buffer.concat([head, bytes]));
    },
  },
  "HTTP+JSON": {
    port: ({ server }) => server.ports.http,
    open: (session, id) => session.request({ ":path": `/tasks/${id}`, "a2a-version": "1.0" }),
  },
  "JSON-RPC": {
    port: ({ server }) => server.ports.http,
    open: (session, id) =>
      session
        .request({ ":method": "POST", ":path": "/jsonrpc", "content-type": "application/json", "a2a-version": "1.0" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } })),
  },
};

/** What becomes of a call whose reply is not read. */
function outcomeOf(stream: ClientHttp2Stream): Promise<"refused" | "cut"> {
  const { promise, resolve } = Promise.withResolvers<"refused" | "cut">();
  const refused = (headers: Readonly<Record<string, unknown>>): void => {
    if (headers[":status"] === 429 || headers["grpc-status"] === "8") resolve("refused");
  };
  stream
    .on("response", refused)
    .on("trailers", refused)
    .on("error", () => undefined);
  stream.once("close", () => resolve(stream.rstCode === ENHANCE_YOUR_CALM ? "refused" : "cut"));
  return promise;
}

suite("replies that a caller does not read", () => {
  for (const [name, { port, open }] of Object.entries(FORMS)) {
    test(
      `are held up to a share of egressBytes, the others are RESOURCE_EXHAUSTED, and what stays is cut: ${name}`,
      { timeout: 60_000 },
      async (t) => {
        await using bed = await openBed({ egressBytes: 4096 * KB, stalledStreamMs: 4000 }, new Large());
        const { id } = taskOf(await bed.rest.unary("SendMessage", send("large")));
        const session = connect(`http://127.0.0.1:${port(bed)}`, { settings: { initialWindowSize: 0 } });
        t.after(() => session.destroy());
        session.on("error", () => undefined);
        await once(session, "remoteSettings");
        const outcomes = Array.from({ length: CALLS }, async () => outcomeOf(open(session, id)));
        assert.equal(await Promise.race(outcomes), "refused");
        // Others are served as before.
        for (const caller of bed.callers) assert.equal(taskOf(await caller.unary("GetTask", { id })).id, id);
        const cut = (await Promise.all(outcomes)).filter((outcome) => outcome === "cut").length;
        assert.equal(cut, Math.floor((1024 * KB) / (REPLY + KB / 2)));
        // What was cut has made room.
        assert.equal(await outcomeOf(open(session, id)), "cut");
      },
    );
  }

  test("over HTTP/1.1 are cut as well", { timeout: 60_000 }, async (t) => {
    await using bed = await openBed({ stalledStreamMs: 500 }, new Large());
    const { id } = taskOf(await bed.rest.unary("SendMessage", send("large")));
    const socket = dial({ port: bed.server.ports.http, host: "127.0.0.1" }).pause();
    // What the sockets of the system take is not counted: so many replies fill them.
    socket.write(`GET /tasks/${id} HTTP/1.1\r\nhost: h\r\na2a-version: 1.0\r\n\r\n`.repeat(200));
    const closed = new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve));
    // Who does not read learns of an end only by writing.
    const writing = setInterval(() => socket.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n"), 100);
    t.after(() => {
      clearInterval(writing);
      socket.destroy();
    });
    await closed;
    for (const caller of bed.callers) assert.equal(taskOf(await caller.unary("GetTask", { id })).id, id);
  });
});

suite("the count of unread replies", () => {
  const cut: string[] = [];
  const open = (replies: UnreadReplies, bytes: number, connection: object, name = ""): (() => void) =>
    replies.begin(bytes, connection, () => cut.push(name));

  test("grants each connection its share, and its first bytes whatever the others hold", () => {
    const replies = new UnreadReplies({ bytes: 1000 * KB, stalledStreamMs: 60_000 });
    const [one, other] = [{}, {}];
    const left = open(replies, 200 * KB, one);
    assert.throws(() => open(replies, 100 * KB, one), /this connection/);
    for (let at = 0; at < 4; at += 1) open(replies, 200 * KB, {});
    assert.throws(() => open(replies, 100 * KB, other), /too many replies/);
    open(replies, 60 * KB, other);
    assert.equal(replies.bytes, 1060 * KB);
    left();
    left();
    assert.equal(replies.bytes, 860 * KB);
    open(replies, 100 * KB, one);
  });

  test("does not count what is small", () => {
    const replies = new UnreadReplies({ bytes: 10, stalledStreamMs: 60_000 });
    for (let at = 0; at < 100; at += 1) open(replies, 2000, replies);
    assert.equal(replies.bytes, 0);
  });

  test("makes room by cutting what nobody took for a second, and cuts all that stays for stalledStreamMs", (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    let now = 0;
    t.mock.method(performance, "now", () => now);
    const replies = new UnreadReplies({ bytes: 400 * KB, stalledStreamMs: 60_000 });
    for (const name of ["a", "b", "c", "d"]) {
      open(replies, 100 * KB, {}, name);
      now += 240;
    }
    assert.throws(() => open(replies, 100 * KB, {}, "e"), /too many/);
    assert.deepEqual(cut, []);
    now = 1050;
    open(replies, 100 * KB, {}, "e");
    assert.deepEqual(cut, ["a"]);
    now = 61_000;
    t.mock.timers.tick(15_000);
    assert.deepEqual(cut, ["a", "b", "c", "d"]);
    now = 61_050;
    t.mock.timers.tick(15_000);
    assert.deepEqual(cut, ["a", "b", "c", "d", "e"]);
    assert.equal(replies.bytes, 0);
  });
});
