import assert from "node:assert/strict";
import { connect } from "node:net";
import { suite, test } from "node:test";
import { message } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { exchange, head, posted, replyOf } from "./raw-http.ts";
import { assertClean } from "./surface.ts";
import { statusFailure } from "./surfaces/http.ts";

const JSON_TYPE = { "content-type": "application/json" };
const CHUNKED = { ...JSON_TYPE, "transfer-encoding": "chunked" };
const BODY = JSON.stringify({ message: message("x") });
const LIST = "GET /tasks?contextId=none";

suite("bytes that are no request of HTTP/1.1", () => {
  const bed = sharedHostileBed();
  const port = (): number => bed().server.ports.http;
  const send = async (bytes: string | Uint8Array, options: { readonly end?: boolean } = {}): Promise<string> => {
    const before = await bed().tasks();
    const received = await exchange(port(), bytes, options);
    assertClean(received);
    assert.equal(await bed().tasks(), before, "a task has begun");
    for (const surface of bed().json) await assertServes(surface);
    return received;
  };
  const refused = async (
    bytes: string | Uint8Array,
    status: number,
    reason: string,
    options: { readonly end?: boolean } = {},
  ): Promise<void> => {
    const reply = replyOf(await send(bytes, options));
    assert.equal(reply.status, status, reply.body);
    assert.match(reply.head, /\r\ncontent-type: application\/json(?:\r\n|$)/i);
    assert.match(reply.head, /\r\nconnection: close(?:\r\n|$)/i);
    const headers = new Map([["content-type", "application/json"]]);
    const failure = statusFailure({ status, headers, text: reply.body });
    assert.deepEqual([failure.reason, failure.code, failure.domain], [reason, status, "throughline.dev"]);
  };

  for (const [name, bytes] of [
    [
      "a body that is shorter than it says",
      `${head("POST /message:send", { ...JSON_TYPE, "content-length": String(BODY.length + 1) })}${BODY}`,
    ],
    ["chunks without an end", `${head("POST /message:send", CHUNKED)}${BODY.length.toString(16)}\r\n${BODY}\r\n`],
    ["a chunk that is cut", `${head("POST /jsonrpc", CHUNKED)}ff\r\n{`],
    ["a head without an end", head(LIST).slice(0, -2)],
    ["half a request line", "GET /tas"],
  ] as const) {
    test(`are answered and begin nothing where they end too soon: ${name}`, () => refused(bytes, 400, "INVALID_REQUEST", { end: true }));
  }

  for (const [name, bytes] of [
    ["a chunk without a size", `${head("POST /message:send", CHUNKED)}zz\r\n{}\r\n0\r\n\r\n`],
    ["a chunk of a negative size", `${head("POST /message:send", CHUNKED)}-1\r\n{}\r\n0\r\n\r\n`],
    ["a chunk larger than any", `${head("POST /message:send", CHUNKED)}ffffffffffffffffff\r\n`],
    ["a chunk that is longer than it says", `${head("POST /message:send", CHUNKED)}1\r\n{}\r\n0\r\n\r\n`],
    ["a length and chunks", `${head("POST /message:send", { ...CHUNKED, "content-length": "5" })}0\r\n\r\n`],
    ["two lengths", `${head("POST /message:send", { "content-length": "2", "Content-Length": "3" })}{}`],
    ["a length that is none", head("POST /message:send", { "content-length": "two" })],
    ["a negative length", head("POST /message:send", { "content-length": "-1" })],
    ["a length beyond all numbers", head("POST /message:send", { "content-length": "9".repeat(30) })],
    ["chunks under another coding", head("POST /message:send", { ...JSON_TYPE, "transfer-encoding": "gzip" })],
    ["a header without a colon", "GET /tasks HTTP/1.1\r\nhost: h\r\nnonsense\r\n\r\n"],
    ["a header with a blank in its name", "GET /tasks HTTP/1.1\r\nhost : h\r\n\r\n"],
    ["a header without a name", "GET /tasks HTTP/1.1\r\nhost: h\r\n: x\r\n\r\n"],
    ["a header with NUL", "GET /tasks HTTP/1.1\r\nhost: h\r\na2a-version: 1.0\0\r\n\r\n"],
    ["a header with a lone CR", "GET /tasks HTTP/1.1\r\nhost: h\r\na: b\rc: d\r\n\r\n"],
    ["a header over two lines", "GET /tasks HTTP/1.1\r\nhost: h\r\na: b\r\n c\r\n\r\n"],
    ["lines without CR", "GET /tasks HTTP/1.1\nhost: h\n\n"],
    ["a blank in the path", "GET /tasks/a b HTTP/1.1\r\nhost: h\r\n\r\n"],
    ["a path that is no ASCII", "GET /tasks/\xff HTTP/1.1\r\nhost: h\r\n\r\n"],
    ["a control character in the path", "GET /tasks/\x01 HTTP/1.1\r\nhost: h\r\n\r\n"],
    ["another version", "GET /tasks HTTP/9.9\r\nhost: h\r\n\r\n"],
    ["a verb in small letters", "get /tasks HTTP/1.1\r\nhost: h\r\n\r\n"],
    ["a verb that nobody knows", "STEAL /tasks HTTP/1.1\r\nhost: h\r\n\r\n"],
    ["a hello of TLS", Buffer.from("16030102000100010001fc0303", "hex")],
    ["a greeting of another protocol", "EHLO example.org\r\n"],
    ["nearly the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"],
  ] as const) {
    test(`are answered in JSON and their connection is closed: ${name}`, () => refused(bytes, 400, "INVALID_REQUEST"));
  }

  for (const [name, bytes] of [
    ["one long header", head(LIST, { a: "x".repeat(20_000) })],
    ["thousands of headers", `GET /tasks HTTP/1.1\r\nhost: h\r\n${"a:b\r\n".repeat(5000)}\r\n`],
    ["a long path", head(`GET /tasks/${"x".repeat(20_000)}`)],
  ] as const) {
    test(`R-370 are answered 431 where their head is too long: ${name}`, () => refused(bytes, 431, "MESSAGE_TOO_LARGE"));
  }

  test("are closed without a word where they end within the preface of HTTP/2", async () => {
    assert.equal(await send("PRI * HTTP/2.0\r\n\r\nSM", { end: true }), "");
  });

  test("are no way to a second request within the body of a first", async () => {
    const inner = head("POST /message:send", { ...JSON_TYPE, "content-length": String(BODY.length) }) + BODY;
    for (const bytes of [
      `${head(LIST, { "content-length": "0", connection: "keep-alive" })}X\r\n${inner}`,
      `${head("POST /jsonrpc", { ...JSON_TYPE, "content-length": String(inner.length) })}${inner}`,
      `${head(LIST, { "content-length": String(inner.length) })}${inner}`,
      `${head("POST /jsonrpc", { ...JSON_TYPE, "content-length": "2", connection: "keep-alive" })}{}0\r\n\r\n${inner}`,
    ])
      await send(bytes);
  });

  test("do not cut the stream before them in pieces", async () => {
    const stream = posted("/message:stream", BODY, { connection: "keep-alive" });
    const received = await exchange(port(), Buffer.concat([stream, Buffer.from("nonsense\r\n\r\n")]));
    assertClean(received);
    // Either the stream is whole or it is cut; nothing else is written into it.
    assert.equal(received.match(/HTTP\/1\.1/g)?.length ?? 0, received.includes("0\r\n\r\n") ? 2 : received === "" ? 0 : 1);
    for (const surface of bed().json) await assertServes(surface);
  });
});

suite("requests of HTTP/1.1 that are odd", () => {
  const bed = sharedHostileBed();
  const port = (): number => bed().server.ports.http;
  const tasks = /^HTTP\/1\.1 200 OK\r\n.*\{"pageSize":50,"tasks":\[\]|^HTTP\/1\.1 200 OK\r\n.*"tasks":\[\]/s;

  for (const [name, bytes] of [
    ["HTTP/1.0", "GET /tasks?contextId=none HTTP/1.0\r\na2a-version: 1.0\r\n\r\n"],
    ["an absolute target, whose host nobody asks about", head("GET http://evil.example:99/tasks?contextId=none")],
    ["an upgrade to what is not spoken", head(LIST, { connection: "upgrade, close", upgrade: "websocket" })],
    [
      "an upgrade to h2c",
      head(LIST, { connection: "upgrade, http2-settings, close", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" }),
    ],
    ["an expectation that nobody knows", head(LIST, { expect: "nonsense" })],
    ["many headers that mean nothing", head(LIST, Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`x${at}`, ""])))],
    ["bytes beyond ASCII in a header", head(LIST, { "x-text": "\xe9\xff" })],
    ["a body where none is wanted", `${head(LIST, { "content-length": "2" })}{}`],
  ] as const) {
    test(`are served: ${name}`, async () => {
      const received = await exchange(port(), bytes);
      assertClean(received);
      assert.match(received, tasks);
    });
  }

  for (const [name, bytes] of [
    ["a target that is no path", head("OPTIONS *")],
    ["an absolute target of another scheme", head("GET ftp://h/tasks")],
    ["a target with a host and no path of ours", head("GET http://h/nothing")],
  ] as const) {
    test(`lead nowhere: ${name}`, async () => {
      const { status, body } = replyOf(await exchange(port(), bytes));
      const failure = statusFailure({ status, headers: new Map([["content-type", "application/json"]]), text: body });
      checkFailure({ binding: "rest" }, failure, "PATH_NOT_FOUND");
    });
  }

  test("are no proxy's: CONNECT is closed without a word", async () => {
    assert.equal(await exchange(port(), head("CONNECT example.org:443")), "");
  });

  test("without a host are answered 400", async () => {
    assert.equal(replyOf(await exchange(port(), "GET /tasks HTTP/1.1\r\nconnection: close\r\n\r\n")).status, 400);
  });

  test("are answered in their order, a hundred on one connection, good and bad", async () => {
    const requests = Array.from({ length: 100 }, (_, at) => head(`GET /tasks/${at}`, { connection: at === 99 ? "close" : "keep-alive" }));
    const received = await exchange(port(), requests.join(""));
    const ids = [...received.matchAll(/"taskId":"(\d+)"/g)].map((match) => Number(match[1]));
    assert.deepEqual(
      ids,
      Array.from({ length: 100 }, (_, at) => at),
    );
  });

  test("with a compressed body are told that none is taken", async () => {
    for (const target of ["/message:send", "/jsonrpc"]) {
      const { status, body } = replyOf(await exchange(port(), posted(target, BODY, { "content-encoding": "gzip" })));
      assert.equal(status, 415, body);
      assert.match(body, /"UNSUPPORTED_ENCODING"/);
    }
    assert.equal(replyOf(await exchange(port(), posted("/message:send", BODY, { "content-encoding": "identity" }))).status, 200);
  });

  test("on the port of gRPC are closed, and gRPC goes on", async () => {
    for (const bytes of [
      head(LIST),
      "nonsense\r\n\r\n",
      Buffer.alloc(1000, 0xff),
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense"),
    ]) {
      const received = await exchange(bed().server.ports.grpc, bytes, { end: true });
      assertClean(received);
      await assertServes(bed().grpc);
    }
  });

  test("that leave in the middle of all that they may send leave nothing behind", async () => {
    const request = posted("/message:stream", BODY);
    for (let cut = 1; cut < request.length; cut += 17) {
      const socket = connect(port(), "127.0.0.1");
      socket.on("error", () => undefined);
      await new Promise<void>((resolve) => socket.write(request.subarray(0, cut), () => resolve()));
      socket.resetAndDestroy();
    }
    for (const surface of bed().json) await assertServes(surface);
  });
});
