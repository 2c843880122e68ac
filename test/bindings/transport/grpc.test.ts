/** gRPC's client end with servers that are not ours: plain grpc-js ones that do what a test says. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { suite, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { A2AService, GetTaskRequestSchema, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { http2StreamOf } from "../../../src/bindings/grpc/http2-stream.ts";
import { createGrpcTransport } from "../../../src/bindings/grpc/transport.ts";
import { until } from "../../redis/until.ts";
import { PlainGrpcServer, taskFrame } from "./plain-grpc-server.ts";
import { factsOf } from "./ways.ts";

const task = (id: string): Buffer => Buffer.from(toBinary(TaskSchema, create(TaskSchema, { id })));

function details(bytes: Uint8Array): Metadata {
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(bytes));
  return metadata;
}

const unsupported = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "UNSUPPORTED_OPERATION", domain: "a2a-protocol.org" }));

suite("statuses of gRPC", () => {
  for (const [name, status, reason, code] of [
    ["NOT_FOUND without details is a task that is not there", { code: 5 }, "TASK_NOT_FOUND", Code.NotFound],
    ["UNIMPLEMENTED without details is itself", { code: 12 }, "UNIMPLEMENTED", Code.Unimplemented],
    ["RESOURCE_EXHAUSTED without details is itself", { code: 8 }, "RESOURCE_EXHAUSTED", Code.ResourceExhausted],
    ["CANCELLED that the server says is itself", { code: 1 }, "CANCELLED", Code.Canceled],
    ["a number that is none is UNKNOWN", { code: 77 }, "UNKNOWN", Code.Unknown],
    [
      "C-06 ErrorInfo decides before a code of old",
      { code: 12, metadata: details(toBinary(StatusSchema, create(StatusSchema, { code: 12, details: [unsupported] }))) },
      "UNSUPPORTED_OPERATION",
      Code.FailedPrecondition,
    ],
    [
      "details that cannot be read are passed over",
      { code: 9, metadata: details(Buffer.from([0xff, 0xff])) },
      "FAILED_PRECONDITION",
      Code.FailedPrecondition,
    ],
  ] as const) {
    test(name, async () => {
      const error = { details: "said so", ...status } as Partial<StatusObject>;
      await using server = await PlainGrpcServer.open({
        get: (_, callback) => callback(error),
        subscribe: (call) => void call.emit("error", error),
      });
      using opened = server.client();
      for (const call of [opened.client.getTask({ id: "t" }), opened.client.subscribeToTask({ id: "t" })]) {
        const facts = await factsOf(call);
        assert.deepEqual([facts.reason, facts.code, facts.message, facts.unreached], [reason, code, "said so", false]);
      }
    });
  }

  test("what is read before an error is what was sent first, without a gap", async () => {
    const sent = Array.from({ length: 1000 }, (_, at) => `t${at}`);
    await using server = await PlainGrpcServer.open({
      subscribe(call) {
        for (const id of sent) call.write(taskFrame(id));
        call.emit("error", { code: 9, details: "that was all" });
      },
    });
    using opened = server.client();
    const ids: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { payload } of opened.client.subscribeToTask({ id: "t" })) {
        ids.push((payload.value as { id: string }).id);
        // Slower than they come.
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await assert.rejects(read, { rawMessage: "that was all" });
    assert.deepEqual(ids, sent.slice(0, ids.length));
  });

  test("a reply that is no message is INTERNAL, and ends its stream", async () => {
    const cancelled = Promise.withResolvers<void>();
    await using server = await PlainGrpcServer.open({
      get: (_, callback) => callback(null, Buffer.from([0xff])),
      subscribe(call) {
        call.on("cancelled", () => cancelled.resolve());
        call.write(Buffer.from([0xff]));
      },
    });
    using opened = server.client();
    assert.equal((await factsOf(opened.client.getTask({ id: "t" }))).code, Code.Internal);
    assert.equal((await factsOf(opened.client.subscribeToTask({ id: "t" }))).code, Code.Internal);
    await cancelled.promise;
  });
});

suite("metadata of gRPC", () => {
  test("goes both ways, in binary too, and trailers come with a success", async () => {
    const seen = Promise.withResolvers<Metadata>();
    const sent = new Metadata();
    sent.add("x-two", "a");
    sent.add("x-two", "b");
    sent.set("x-bytes-bin", Buffer.from([0, 255]));
    const trailer = new Metadata();
    trailer.set("x-last", "word");
    await using server = await PlainGrpcServer.open({
      get(call, callback) {
        seen.resolve(call.metadata);
        call.sendMetadata(sent);
        callback(null, task("t"), trailer);
      },
      subscribe(call) {
        call.sendMetadata(sent);
        call.write(taskFrame("t"));
        call.end(trailer);
      },
    });
    using opened = server.client({ headers: { "x-bytes-bin": "AP8" } });
    for (const call of ["unary", "stream"]) {
      const received: Headers[] = [];
      const options = {
        headers: [["x-own", "é".normalize("NFD").slice(0, 1)]] as [string, string][],
        onHeader: (headers: Headers) => received.push(headers),
        onTrailer: (headers: Headers) => received.push(headers),
      };
      if (call === "unary") await opened.client.getTask({ id: "t" }, options);
      else for await (const _ of opened.client.subscribeToTask({ id: "t" }, options));
      assert.deepEqual(
        received.map((headers) => [headers.get("x-two"), headers.get("x-bytes-bin"), headers.get("x-last")]),
        [
          ["a, b", "AP8=", null],
          [null, null, "word"],
        ],
      );
    }
    const metadata = await seen.promise;
    assert.deepEqual([metadata.get("x-bytes-bin"), metadata.get("x-own")], [[Buffer.from([0, 255])], ["e"]]);
  });

  test("headers that came are told with the error that ended the call", async () => {
    const sent = new Metadata();
    sent.set("a2a-task-id", "t");
    const asked = Promise.withResolvers<void>();
    await using server = await PlainGrpcServer.open({
      get(call, callback) {
        if (fromBinary(GetTaskRequestSchema, call.request).id === "other") return callback(null, task("other"));
        call.sendMetadata(sent);
        return asked.resolve();
      },
    });
    using opened = server.client();
    const leaving = new AbortController();
    const failed = assert.rejects(
      opened.client.getTask({ id: "t" }, { signal: leaving.signal }),
      ({ metadata, code }: ConnectError) => code === Code.Canceled && metadata.get("a2a-task-id") === "t",
    );
    await asked.promise;
    // Its reply comes after the headers of the first, on the same connection.
    await opened.client.getTask({ id: "other" });
    leaving.abort();
    await failed;
  });

  test("the server knows the deadline", async () => {
    const deadline = Promise.withResolvers<Date | number>();
    await using server = await PlainGrpcServer.open({
      get(call, callback) {
        deadline.resolve(call.getDeadline());
        callback(null, task("t"));
      },
    });
    using opened = server.client();
    const from = Date.now();
    await opened.client.getTask({ id: "t" }, { timeoutMs: 60_000 });
    const left = Number(await deadline.promise) - from;
    assert.ok(left > 0 && left <= 61_000, String(left));
  });
});

suite("streams of gRPC", () => {
  for (const [name, code] of [
    ["CANCEL", constants.NGHTTP2_CANCEL],
    ["INTERNAL_ERROR", constants.NGHTTP2_INTERNAL_ERROR],
    ["NO_ERROR", constants.NGHTTP2_NO_ERROR],
    ["REFUSED_STREAM", constants.NGHTTP2_REFUSED_STREAM],
  ] as const) {
    test(`that are reset with ${name} are UNAVAILABLE`, async () => {
      await using server = await PlainGrpcServer.open({
        subscribe(call) {
          call.write(taskFrame("t"), () => http2StreamOf(call).close(code));
        },
      });
      using opened = server.client();
      const stream = opened.client.subscribeToTask({ id: "t" })[Symbol.asyncIterator]();
      assert.equal((await stream.next()).done, false);
      const facts = await factsOf({ [Symbol.asyncIterator]: () => stream });
      assert.deepEqual([facts.code, facts.unreached], [Code.Unavailable, false], facts.message);
    });
  }

  for (const [name, leave] of Object.entries({
    "is left": async (stream: AsyncIterator<unknown>) => void (await stream.return?.()),
    "is aborted": async (_: AsyncIterator<unknown>, leaving: AbortController) => leaving.abort(),
    "is closed with its transport": async (_: AsyncIterator<unknown>, __: AbortController, opened: Disposable) => opened[Symbol.dispose](),
  })) {
    test(`tell the server when one ${name}`, async () => {
      const cancelled = Promise.withResolvers<void>();
      await using server = await PlainGrpcServer.open({
        subscribe(call) {
          call.on("cancelled", () => cancelled.resolve());
          call.write(taskFrame("t"));
        },
      });
      using opened = server.client();
      const leaving = new AbortController();
      const stream = opened.client.subscribeToTask({ id: "t" }, { signal: leaving.signal })[Symbol.asyncIterator]();
      await stream.next();
      await leave(stream, leaving, opened);
      await cancelled.promise;
    });
  }

  test("have a larger window than HTTP/2's own, one each", async () => {
    const windows: (number | undefined)[] = [];
    await using server = await PlainGrpcServer.open({
      subscribe(call) {
        windows.push(http2StreamOf(call).session?.remoteSettings.initialWindowSize);
        call.end();
      },
    });
    for (const options of [{}, { windowBytes: 4 * 1024 * 1024 }]) {
      using opened = server.client(options);
      for await (const _ of opened.client.subscribeToTask({ id: "t" }));
    }
    assert.deepEqual(windows, [1024 * 1024, 4 * 1024 * 1024]);
  });

  test("without a frame end without one", async () => {
    await using server = await PlainGrpcServer.open({ subscribe: (call) => void call.end() });
    using opened = server.client();
    for await (const _ of opened.client.subscribeToTask({ id: "t" })) assert.fail("a frame");
  });
});

test("addresses of a name that asks for it share the calls", async () => {
  const counts = [0, 0];
  const open = (at: number): Promise<PlainGrpcServer> =>
    PlainGrpcServer.open({
      get(_, callback) {
        counts[at] = (counts[at] ?? 0) + 1;
        callback(null, task("t"));
      },
    });
  await using one = await open(0);
  await using other = await open(1);
  const url = `ipv4:127.0.0.1:${one.port},127.0.0.1:${other.port}`;
  using opened = one.client({ url, plaintext: true });
  await until("both have been asked", 20_000, async () => {
    await opened.client.getTask({ id: "t" });
    return counts.every((count) => count > 0);
  });
});

test("streams of requests are not carried", async () => {
  using transport = { own: createGrpcTransport({ url: "http://127.0.0.1:1" }), [Symbol.dispose]: () => transport.own.close() };
  const method = { ...A2AService.method.subscribeToTask, methodKind: "bidi_streaming" } as const;
  async function* none(): AsyncGenerator<never> {}
  await assert.rejects(transport.own.stream(method, undefined, undefined, undefined, none()), { code: Code.Unimplemented });
  await assert.rejects(transport.own.stream(A2AService.method.subscribeToTask, undefined, undefined, undefined, none()), {
    code: Code.InvalidArgument,
  });
});
