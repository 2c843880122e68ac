import assert from "node:assert/strict";
import { constants } from "node:http2";
import { mock, suite, test } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { assertClean } from "./surface.ts";
import { failureOf, framed, type GrpcReply, type GrpcRequest, receivedOf } from "./surfaces/grpc.ts";
import { record } from "./wire.ts";

const SERVICE = "/lf.a2a.v1.A2AService";
const LIST = `${SERVICE}/ListTasks`;
const SUBSCRIBE = `${SERVICE}/SubscribeToTask`;
const CONTEXT = record(2, Buffer.from("none"));
const GOOD = framed(CONTEXT);

/** Numbers of gRPC's codes. */
const OK = 0;
const INVALID_ARGUMENT = 3;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

type Case = readonly [name: string, request: GrpcRequest, code: number];

suite("a gRPC call that is no call", () => {
  const bed = sharedHostileBed({ maxMessageBytes: 1_000_000 });
  const call = async (request: GrpcRequest): Promise<GrpcReply> => {
    const reply = await bed().grpc.wire.call(request);
    assertClean(receivedOf(reply));
    await assertServes(bed().grpc);
    return reply;
  };

  const frames: readonly Case[] = [
    ["no message", { path: LIST, chunks: [] }, UNIMPLEMENTED],
    ["no message to a stream", { path: SUBSCRIBE, chunks: [] }, UNIMPLEMENTED],
    ["two messages", { path: LIST, chunks: [GOOD, GOOD] }, UNIMPLEMENTED],
    ["two messages to a stream", { path: SUBSCRIBE, chunks: [GOOD, GOOD] }, UNIMPLEMENTED],
    ["half a prefix", { path: LIST, chunks: [Buffer.alloc(3)] }, UNIMPLEMENTED],
    ["a prefix that says more than comes", { path: LIST, chunks: [framed(CONTEXT, 0, 100)] }, UNIMPLEMENTED],
    ["a prefix that says less than comes", { path: LIST, chunks: [framed(CONTEXT, 0, 2)] }, INVALID_ARGUMENT],
    ["a prefix that says four gigabytes", { path: LIST, chunks: [framed(CONTEXT, 0, 2 ** 32 - 1)] }, RESOURCE_EXHAUSTED],
    ["one byte too many", { path: LIST, chunks: [framed(Buffer.alloc(1_000_001))] }, RESOURCE_EXHAUSTED],
    ["a message in pieces of one byte", { path: LIST, chunks: [...GOOD].map((byte) => Buffer.of(byte)) }, OK],
    ["JSON", { path: LIST, chunks: [framed(Buffer.from('{"contextId":"none"}'))] }, INVALID_ARGUMENT],
    ["random bytes", { path: LIST, chunks: [framed(Buffer.from("deadbeefcafebabe", "hex"))] }, INVALID_ARGUMENT],
  ];
  const gzip = { "grpc-encoding": "gzip" };
  const compressed: readonly Case[] = [
    ["gzip", { path: LIST, chunks: [framed(gzipSync(CONTEXT), 1)], headers: gzip }, OK],
    ["gzip that is none", { path: LIST, chunks: [framed(CONTEXT, 1)], headers: gzip }, INTERNAL],
    ["gzip that is cut", { path: LIST, chunks: [framed(gzipSync(CONTEXT).subarray(0, -6), 1)], headers: gzip }, INTERNAL],
    [
      "half a gigabyte in half a megabyte",
      { path: LIST, chunks: [framed(gzipSync(Buffer.alloc(100_000_000)), 1)], headers: gzip },
      RESOURCE_EXHAUSTED,
    ],
    [
      "deflate that grows too large",
      { path: LIST, chunks: [framed(deflateSync(Buffer.alloc(2_000_000)), 1)], headers: { "grpc-encoding": "deflate" } },
      RESOURCE_EXHAUSTED,
    ],
    ["another compression", { path: LIST, chunks: [framed(CONTEXT, 1)], headers: { "grpc-encoding": "br" } }, UNIMPLEMENTED],
  ];
  for (const [name, request, code] of [...frames, ...compressed]) {
    test(`is answered by a status: ${name}`, async () => assert.equal(failureOf(await call(request))?.code ?? OK, code));
  }

  for (const path of [
    "/",
    `${SERVICE}/`,
    `${SERVICE}/Nothing`,
    `${SERVICE}/sendMessage`,
    `${SERVICE}/ListTasks/x`,
    "/a2a.v1.A2AService/SendMessage",
    "/A2AService/ListTasks",
    "/%00/..",
    `/${"x".repeat(5000)}`,
    `${SERVICE}/ListTasks?a=b`,
  ]) {
    test(`is UNIMPLEMENTED where there is no such method: ${path.slice(0, 40)}`, async () =>
      assert.equal(failureOf(await call({ path, chunks: [GOOD] }))?.code, UNIMPLEMENTED));
  }

  test("is answered 415 where its type is not gRPC's", async () => {
    for (const type of ["application/json", "text/plain", "nonsense"]) {
      const { headers } = await call({ path: LIST, chunks: [GOOD], headers: { "content-type": type } });
      assert.equal(headers[":status"], 415);
    }
  });

  test("is served or refused, whatever its deadline says", async () => {
    for (const timeout of ["", "0n", "1n", "-1S", "1", "S", "soon", "1.5S", "999999999S", "99999999H", "2592000S", "1s", "1S 2S"]) {
      const failure = failureOf(await call({ path: LIST, chunks: [GOOD], headers: { "grpc-timeout": timeout } }));
      // DEADLINE_EXCEEDED for the short ones, INTERNAL for what is no time.
      assert.ok([OK, 4, INTERNAL].includes(failure?.code ?? OK), `${timeout}: ${failure?.message}`);
    }
  });

  test("R-376 leaves nothing of its metadata on stderr", async () => {
    const written = mock.method(console, "error", () => undefined);
    try {
      const headers = {
        authorization: "Bearer s\u00e9cret",
        "x-bin": ["!!!", "AA==", "@"],
        "x!y": "1",
        "grpc-status": "0",
        "grpc-message": "%zz",
        "grpc-status-details-bin": "AA",
        "last-event-id": "\u00ff",
      };
      assert.equal(failureOf(await call({ path: LIST, chunks: [GOOD], headers })), undefined);
      assert.equal(written.mock.callCount(), 0, String(written.mock.calls[0]?.arguments));
    } finally {
      written.mock.restore();
    }
  });

  for (const [name, version] of [
    ["two versions", ["1.0", "2.0"]],
    ["a list of versions", "1.0, 1.0"],
    ["no number", "one"],
    ["a version with more behind it", "1.0; a=b"],
    ["a long one", "1".repeat(5000)],
    ["one with a quote", '1.0"}'],
    ["a patch without a number", "1.0."],
    ["a negative one", "-1.0"],
    ["one with zeros", "01.0"],
  ] as const) {
    test(`C-12 is told which version is spoken where it asks for ${name}`, async () => {
      const failure = failureOf(await call({ path: LIST, chunks: [GOOD], headers: { "a2a-version": version } }));
      assert.deepEqual([failure?.code, failure?.reason], [FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED"]);
      assert.ok((failure?.message.length ?? 0) < 300);
    });
  }

  test("with more headers than anybody needs is reset, and its connection lives", async () => {
    const { session } = bed().grpc.wire;
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`x-${at}`, "y"]));
    const stream = session.request({ ":method": "POST", ":path": LIST, "content-type": "application/grpc", ...many }, { endStream: true });
    stream.on("error", () => undefined);
    await new Promise((resolve) => stream.once("close", resolve));
    assert.equal(stream.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await assertServes(bed().grpc);
  });

  test("that is left in the middle leaves nothing behind", async () => {
    const { session } = bed().grpc.wire;
    for (let round = 0; round < 200; round += 1) {
      const stream = session.request({ ":method": "POST", ":path": LIST, "content-type": "application/grpc", te: "trailers" });
      stream.on("error", () => undefined);
      stream.write(GOOD.subarray(0, round % GOOD.length));
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await assertServes(bed().grpc);
  });
});
