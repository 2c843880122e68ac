import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { GetTaskRequestSchema, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Bed, send, sharedBed, startTask } from "../bed.ts";
import { allEnvelopes, type Envelope, envelope, postCall } from "../callers/envelopes.ts";
import { type HttpVersion, type Wire, wireTo } from "../callers/wire.ts";

const BINARY = "application/grpc-web+proto";
const JSON_TYPE = "application/grpc-web+json";

const enveloped = (json: JsonObject): Buffer => envelope(Buffer.from(JSON.stringify(json)));
const getTask = (id: string): Buffer => envelope(toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id })));
/** The trailers in the last envelope. */
const trailersIn = (one: Envelope | undefined): Record<string, string> => {
  assert.equal(one?.flags, 0x80);
  const lines = String(one?.bytes).split("\r\n");
  assert.equal(lines.pop(), "");
  return Object.fromEntries(lines.map((line) => /^([a-z-]+): (.*)$/.exec(line)?.slice(1) ?? assert.fail(line)) as [string, string][]);
};

for (const version of [1, 2] satisfies HttpVersion[]) {
  suite(`gRPC-Web over HTTP/${version}`, () => {
    const bed = sharedBed();
    const strict = sharedBed({ tokens: { t: "alice" } });
    const over = async (use: (wire: Wire) => Promise<void>, { server }: Bed = bed()): Promise<void> => {
      const wire = wireTo(server.ports.http, version);
      try {
        await use(wire);
      } finally {
        wire.close();
      }
    };

    test("a unary reply is one message and the trailers, in binary and in JSON", () =>
      over(async (wire) => {
        const id = await startTask(bed().rest, "input");
        for (const [type, replied, body] of [
          [BINARY, BINARY, getTask(id)],
          ["application/grpc-web", BINARY, getTask(id)],
          [JSON_TYPE, JSON_TYPE, enveloped({ id })],
        ] as const) {
          const reply = await postCall(wire, { method: "GetTask", type, body });
          assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, replied]);
          const [message, last, ...more] = await allEnvelopes(reply.body);
          assert.deepEqual([message?.flags, trailersIn(last), more], [0, { "grpc-status": "0" }, []]);
          const bytes = message?.bytes ?? assert.fail();
          assert.equal(replied === BINARY ? fromBinary(TaskSchema, bytes).id : (JSON.parse(String(bytes)) as JsonObject)["id"], id);
        }
      }));

    test("an error is trailers without a message, with google.rpc.Status in grpc-status-details-bin", () =>
      over(async (wire) => {
        for (const method of ["GetTask", "SubscribeToTask"]) {
          const reply = await postCall(wire, { method, type: JSON_TYPE, body: enveloped({ id: "t-1" }) });
          assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, JSON_TYPE]);
          const [last, ...more] = await allEnvelopes(reply.body);
          const trailers = trailersIn(last);
          assert.deepEqual(more, []);
          assert.deepEqual([trailers["grpc-status"], decodeURIComponent(trailers["grpc-message"] ?? "")], ["5", "no such task"]);
          const { code, message, details } = fromBinary(StatusSchema, Buffer.from(trailers["grpc-status-details-bin"] ?? "", "base64"));
          assert.deepEqual([code, message, details.length], [5, "no such task", 1]);
          const { reason, domain, metadata } = anyUnpack(details[0] as never, ErrorInfoSchema) ?? assert.fail("no ErrorInfo");
          assert.deepEqual([reason, domain, metadata], ["TASK_NOT_FOUND", "a2a-protocol.org", { taskId: "t-1" }]);
        }
      }));

    test("a stream is messages, then the trailers", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "SendStreamingMessage", type: JSON_TYPE, body: enveloped(send("complete")) });
        assert.match(reply.headers.get("a2a-task-id") ?? "", /^[0-9a-f-]{36}$/);
        const all = await allEnvelopes(reply.body);
        const kinds = all.slice(0, -1).map(({ flags, bytes }) => `${flags} ${Object.keys(JSON.parse(String(bytes)) as JsonObject).join()}`);
        assert.deepEqual(kinds, ["0 task", "0 statusUpdate", "0 artifactUpdate", "0 statusUpdate"]);
        assert.deepEqual(trailersIn(all.at(-1)), { "grpc-status": "0" });
      }));

    test("a task's id goes ahead of the reply that waits for the task", () =>
      over(async (wire) => {
        const gate = bed().agent.gate();
        const reply = await postCall(wire, { method: "SendMessage", type: JSON_TYPE, body: enveloped(send(`slow ${gate.name}`)) });
        // The agent still waits: the message cannot have come.
        assert.equal(reply.headers.get("a2a-task-id"), (await gate.reached).taskId);
        gate.open();
        assert.equal((await allEnvelopes(reply.body)).length, 2);
      }));

    test("a call without a token is challenged, before its body is read", () =>
      over(async (wire) => {
        for (const method of ["GetTask", "SubscribeToTask"]) {
          const reply = await postCall(wire, { method, type: BINARY, body: "no envelope" });
          assert.equal(trailersIn((await allEnvelopes(reply.body))[0])["grpc-status"], "16");
          assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer /);
        }
      }, strict()));

    test("a request may be compressed, and its reply is not", () =>
      over(async (wire) => {
        const body = envelope(gzipSync(JSON.stringify(send("complete"))), 1);
        const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
        const reply = await postCall(wire, { method: "SendMessage", type: JSON_TYPE, body, headers });
        assert.equal(reply.headers.get("grpc-encoding"), undefined);
        const [message] = await allEnvelopes(reply.body);
        assert.deepEqual([message?.flags, /TASK_STATE_COMPLETED/.test(String(message?.bytes))], [0, true]);
        const unknown = await postCall(wire, { method: "SendMessage", type: JSON_TYPE, body, headers: { "grpc-encoding": "br" } });
        assert.equal(unknown.headers.get("grpc-accept-encoding"), "gzip");
        assert.equal(trailersIn((await allEnvelopes(unknown.body))[0])["grpc-status"], "12");
      }));
  });
}
