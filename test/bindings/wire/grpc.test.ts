import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { connect, type ClientHttp2Session } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import {
  GetTaskRequestSchema,
  ListTasksResponseSchema,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { message, send, sharedBed, taskOf } from "../bed.ts";

/** One call as HTTP/2 carries it. */
interface Raw {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly messages: readonly Buffer[];
  /** Header blocks before the end: 1 where the answer is trailers only. */
  readonly blocks: number;
}

async function raw(session: ClientHttp2Session, method: string, request: Uint8Array, headers: Record<string, string> = {}): Promise<Raw> {
  const stream = session.request({
    ":method": "POST",
    ":path": `/lf.a2a.v1.A2AService/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
    ...headers,
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(request.length, 1);
  stream.end(Buffer.concat([prefix, request]));
  let responseHeaders = {};
  let trailers = {};
  let blocks = 0;
  stream.on("response", (block) => {
    responseHeaders = block;
    blocks += 1;
  });
  stream.on("trailers", (block) => {
    trailers = block;
    blocks += 1;
  });
  let body = Buffer.alloc(0);
  for await (const chunk of stream) body = Buffer.concat([body, chunk as Buffer]);
  const messages: Buffer[] = [];
  while (body.length > 0) {
    assert.equal(body[0], 0, "not compressed");
    const length = body.readUInt32BE(1);
    messages.push(body.subarray(5, 5 + length));
    body = body.subarray(5 + length);
  }
  return { headers: responseHeaders, trailers: blocks === 1 ? responseHeaders : trailers, messages, blocks };
}

suite("gRPC on the wire", () => {
  const bed = sharedBed({ tokens: { t: "alice" } });
  const auth = { authorization: "Bearer t" };
  const withSession = async (use: (session: ClientHttp2Session) => Promise<void>): Promise<void> => {
    const session = connect(`http://127.0.0.1:${bed().server.ports.grpc}`);
    try {
      await use(session);
    } finally {
      session.close();
    }
  };

  test("R-231 R-232 R-234 R-241 an error is a status with google.rpc.Status in grpc-status-details-bin, and no message", () =>
    withSession(async (session) => {
      const request = toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: "t-1" }));
      const { headers, trailers, messages } = await raw(session, "GetTask", request, auth);
      assert.equal(headers[":status"], 200);
      assert.equal(headers["content-type"], "application/grpc+proto");
      assert.equal(trailers["grpc-status"], "5");
      // grpc-js escapes more than it must; every client unescapes.
      assert.equal(decodeURIComponent(String(trailers["grpc-message"])), "no such task");
      assert.deepEqual(messages, []);
      const bytes = Buffer.from(String(trailers["grpc-status-details-bin"]), "base64");
      const expected = {
        code: 5,
        message: "no such task",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { taskId: "t-1" },
      };
      const status = fromBinary(StatusSchema, bytes);
      const [any] = status.details;
      assert.ok(any !== undefined && status.details.length === 1);
      assert.equal(any.typeUrl, "type.googleapis.com/google.rpc.ErrorInfo");
      const { reason, domain, metadata } = anyUnpack(any, ErrorInfoSchema) ?? assert.fail("no ErrorInfo");
      assert.deepEqual({ code: status.code, message: status.message, reason, domain, metadata }, expected);
      // The very bytes: field by field as proto3 orders them.
      const info = toBinary(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain, metadata }));
      const golden = Buffer.concat([
        Buffer.of(0x08, 5, 0x12, 12),
        Buffer.from("no such task"),
        Buffer.of(0x1a, 2 + 40 + 2 + info.length, 0x0a, 40),
        Buffer.from("type.googleapis.com/google.rpc.ErrorInfo"),
        Buffer.of(0x12, info.length),
        info,
      ]);
      assert.equal(bytes.toString("hex"), golden.toString("hex"));
    }));

  test("R-237 bad fields come as BadRequest behind the ErrorInfo", () =>
    withSession(async (session) => {
      const { trailers } = await raw(session, "SendMessage", new Uint8Array(), auth);
      assert.equal(trailers["grpc-status"], "3");
      const status = fromBinary(StatusSchema, Buffer.from(String(trailers["grpc-status-details-bin"]), "base64"));
      assert.deepEqual(
        status.details.map(({ typeUrl }) => typeUrl.split("/")[1]),
        ["google.rpc.ErrorInfo", "google.rpc.BadRequest"],
      );
      const bad = anyUnpack(status.details[1] as never, BadRequestSchema);
      assert.deepEqual(
        bad?.fieldViolations.map(({ field }) => field),
        ["message"],
      );
    }));

  test("a trailer stays short whatever was wrong, and the connection lives", () =>
    withSession(async (session) => {
      const parts = Array.from({ length: 2000 }, () => ({}));
      const said = { messageId: "m".repeat(5000), contextId: "💥".repeat(1000), role: Role.USER, parts };
      const request = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message: said, tenant: "t".repeat(9000) }));
      for (let round = 0; round < 2; round += 1) {
        const { trailers } = await raw(session, "SendMessage", request, auth);
        assert.equal(trailers["grpc-status"], "3");
        assert.ok(Buffer.from(String(trailers["grpc-status-details-bin"]), "base64").length <= 4096);
      }
    }));

  test("C-59 a task's id travels in the initial metadata of its sends", () =>
    withSession(async (session) => {
      const said = { messageId: "wire-1", role: Role.USER, parts: [{ content: { case: "text", value: "complete" } as const }] };
      const request = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message: said }));
      const headers = { ...auth, "a2a-extensions": "urn:throughline:a2a:idempotent-send:v1" };
      const unary = await raw(session, "SendMessage", request, headers);
      const stream = await raw(session, "SendStreamingMessage", request, headers);
      for (const reply of [unary, stream]) {
        assert.match(String(reply.headers["a2a-task-id"]), /^[0-9a-f-]{36}$/);
        assert.equal(reply.headers["a2a-extensions"], "urn:throughline:a2a:idempotent-send:v1");
        assert.equal(reply.trailers["grpc-status"], "0");
        assert.equal(reply.trailers["grpc-status-details-bin"], undefined);
      }
      assert.equal(unary.messages.length, 1);
      assert.equal(unary.headers["a2a-task-id"], stream.headers["a2a-task-id"]);
    }));

  test("R-244 R-358 an unauthenticated call is challenged in its metadata", () =>
    withSession(async (session) => {
      const { headers, trailers } = await raw(session, "ListTasks", new Uint8Array());
      assert.equal(trailers["grpc-status"], "16");
      assert.match(String(headers["www-authenticate"]), /^Bearer /);
    }));

  test("what is no method is UNIMPLEMENTED", () =>
    withSession(async (session) => {
      const { trailers } = await raw(session, "ResubscribeToTask", new Uint8Array(), auth);
      assert.equal(trailers["grpc-status"], "12");
    }));

  test("R-084 SV-03 every subscriber gets the same bytes, those of the log", async () => {
    const { agent, grpc } = bed();
    const gate = agent.gate();
    const request = {
      ...send("", { message: { ...message(`chunks ${gate.name}`), metadata: { b: 1, a: { d: 2, c: [3] } } } }),
      configuration: { returnImmediately: true },
    };
    const { id } = taskOf(await grpc.unary("SendMessage", request, { headers: auth }));
    await gate.reached;
    await grpc.unary("GetTask", { id }, { headers: auth });
    await withSession(async (session) => {
      const wanted = toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id }));
      const readers = [0, 1].map(() => raw(session, "SubscribeToTask", wanted, auth));
      // Both have their snapshot once a later call on the same connection was answered.
      await raw(session, "ListTasks", new Uint8Array(), auth);
      gate.open(3);
      const [one, two] = await Promise.all(readers);
      assert.deepEqual(one?.messages, two?.messages);
      for (const bytes of one?.messages ?? []) {
        assert.equal(
          Buffer.from(toBinary(StreamResponseSchema, fromBinary(StreamResponseSchema, bytes))).toString("hex"),
          bytes.toString("hex"),
        );
      }
    });
  });

  test("R-054 an empty list is an empty list", () =>
    withSession(async (session) => {
      const reply = await raw(session, "ListTasks", Uint8Array.of(18, 1, 120), auth);
      const { tasks, pageSize, totalSize, nextPageToken } = fromBinary(ListTasksResponseSchema, reply.messages[0] as Buffer);
      assert.deepEqual([tasks, pageSize, totalSize, nextPageToken], [[], 50, 0, ""]);
    }));
});
