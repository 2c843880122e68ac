import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { GetTaskRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Bed, send, sharedBed, startTask } from "../bed.ts";
import { allEnvelopes, type Envelope, envelope, postCall } from "../callers/envelopes.ts";
import type { OpenReply } from "../callers/http2.ts";
import { type HttpVersion, type Wire, wireTo } from "../callers/wire.ts";

const JSON_TYPE = "application/json";
const JSON_STREAM = "application/connect+json";

const textOf = async ({ body }: OpenReply): Promise<string> => (await buffer(body)).toString("utf8");
const jsonOf = async (reply: OpenReply): Promise<JsonObject> => JSON.parse(await textOf(reply)) as JsonObject;
const jsonIn = (one: Envelope | undefined): JsonObject => JSON.parse(String(one?.bytes)) as JsonObject;
const enveloped = (json: JsonObject): Buffer => envelope(Buffer.from(JSON.stringify(json)));
const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");

/** A detail of an error. */
interface Detail {
  readonly type: string;
  readonly value: string;
  readonly debug: JsonObject;
}

/** What Connect makes of "no such task". */
function notFound(taskId: string): JsonObject {
  const info = { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org", metadata: { taskId } };
  const value = unpadded(toBinary(ErrorInfoSchema, create(ErrorInfoSchema, info)));
  return { code: "not_found", message: "no such task", details: [{ type: "google.rpc.ErrorInfo", debug: info, value }] };
}

for (const version of [1, 2] satisfies HttpVersion[]) {
  suite(`Connect over HTTP/${version}`, () => {
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

    test("a unary call is a message each way, in the type of the request", () =>
      over(async (wire) => {
        const id = await startTask(bed().rest, "input");
        const binary = toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id }));
        for (const [type, body] of [
          [JSON_TYPE, JSON.stringify({ id })],
          [`${JSON_TYPE}; charset=utf-8`, JSON.stringify({ id })],
          ["application/proto", binary],
        ] as const) {
          const reply = await postCall(wire, { method: "GetTask", type, body });
          const bytes = await buffer(reply.body);
          assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, type.split(";")[0]]);
          assert.equal(reply.headers.get("content-length"), String(bytes.length));
          assert.ok(bytes.includes(id));
        }
      }));

    test("C-18 JSON is that of HTTP+JSON, REQUIRED members and all", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "ListTasks", type: JSON_TYPE, body: '{"contextId":"none"}' });
        assert.deepEqual(await jsonOf(reply), { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
      }));

    test("an error is JSON with the code's own status, its details in binary with JSON beside", () =>
      over(async (wire) => {
        for (const [type, body] of [
          [JSON_TYPE, '{"id":"t-1"}'],
          ["application/proto", "\x12\x03t-1"],
        ] as const) {
          const reply = await postCall(wire, { method: "GetTask", type, body });
          assert.deepEqual([reply.status, reply.headers.get("content-type")], [404, JSON_TYPE]);
          assert.deepEqual(await jsonOf(reply), notFound("t-1"));
        }
      }));

    test("bad fields come as BadRequest behind the ErrorInfo", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "SendMessage", type: JSON_TYPE, body: '{"message":{"role":"ROLE_NOBODY"}}' });
        const { code, details } = (await jsonOf(reply)) as unknown as { code: string; details: [Detail, Detail] };
        assert.deepEqual([reply.status, code], [400, "invalid_argument"]);
        const [info, bad] = details;
        assert.deepEqual([info.type, bad.type, details.length], ["google.rpc.ErrorInfo", "google.rpc.BadRequest", 2]);
        const { fieldViolations } = bad.debug as { fieldViolations: { field: string; description: string }[] };
        assert.equal(fieldViolations[0]?.field, "message.role");
        assert.equal(bad.value, unpadded(toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations }))));
      }));

    test("a stream is envelopes of messages, and a last one that is empty JSON", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "SendStreamingMessage", type: JSON_STREAM, body: enveloped(send("complete")) });
        assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, JSON_STREAM]);
        assert.match(reply.headers.get("a2a-task-id") ?? "", /^[0-9a-f-]{36}$/);
        assert.deepEqual([reply.headers.get("cache-control"), reply.headers.get("x-accel-buffering")], ["no-cache", "no"]);
        const all = await allEnvelopes(reply.body);
        assert.deepEqual(
          all.map(({ flags }) => flags),
          [0, 0, 0, 0, 2],
        );
        const kinds = all.slice(0, -1).flatMap((one) => Object.keys(jsonIn(one)));
        assert.deepEqual(kinds, ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
        assert.equal(String(all.at(-1)?.bytes), "{}");
      }));

    test("R-282 C-34 an error before the first message is the last envelope, with status 200", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "SubscribeToTask", type: JSON_STREAM, body: enveloped({ id: "t-1" }) });
        assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, JSON_STREAM]);
        const all = await allEnvelopes(reply.body);
        assert.deepEqual([all.length, all[0]?.flags, jsonIn(all[0])], [1, 2, { error: notFound("t-1") }]);
      }));

    test("messages are the same bytes for every subscriber, of Connect and of gRPC-Web", () =>
      over(async (wire) => {
        const gate = bed().agent.gate();
        const id = await startTask(bed().rest, `chunks ${gate.name}`);
        await gate.reached;
        const body = envelope(Buffer.from(`\x12${String.fromCharCode(id.length)}${id}`));
        const types = ["application/connect+proto", "application/grpc-web+proto", "application/connect+proto"];
        const replies = await Promise.all(types.map((type) => postCall(wire, { method: "SubscribeToTask", type, body })));
        gate.open(3);
        const all = await Promise.all(replies.map(async (reply) => (await allEnvelopes(reply.body)).slice(0, -1)));
        assert.ok((all[0]?.length ?? 0) > 1);
        for (const one of all) assert.deepEqual(one, all[0]);
      }));

    test("a call without a token is challenged, before its body is read", () =>
      over(async (wire) => {
        for (const body of ["{}", "no JSON at all"]) {
          const unary = await postCall(wire, { method: "GetTask", type: JSON_TYPE, body });
          assert.deepEqual([unary.status, (await jsonOf(unary))["code"]], [401, "unauthenticated"]);
          const stream = await postCall(wire, { method: "SubscribeToTask", type: JSON_STREAM, body });
          const [last] = await allEnvelopes(stream.body);
          assert.deepEqual([stream.status, (jsonIn(last)["error"] as JsonObject)["code"]], [200, "unauthenticated"]);
          for (const { headers } of [unary, stream]) assert.match(headers.get("www-authenticate") ?? "", /^Bearer /);
        }
      }, strict()));

    test("a request may be compressed, and its reply is not", () =>
      over(async (wire) => {
        const request = (): Buffer => gzipSync(JSON.stringify(send("complete")));
        const asked = { "accept-encoding": "gzip, br", "content-encoding": "gzip" };
        const unary = await postCall(wire, { method: "SendMessage", type: JSON_TYPE, body: request(), headers: asked });
        assert.deepEqual([unary.status, unary.headers.get("content-encoding")], [200, undefined]);
        assert.match(await textOf(unary), /TASK_STATE_COMPLETED/);
        const headers = { "connect-accept-encoding": "gzip", "connect-content-encoding": "gzip" };
        const stream = await postCall(wire, { method: "SendStreamingMessage", type: JSON_STREAM, body: envelope(request(), 1), headers });
        assert.equal(stream.headers.get("connect-content-encoding"), undefined);
        assert.equal((await allEnvelopes(stream.body)).length, 5);
      }));

    test("a compression that is not known is answered with the one that is", () =>
      over(async (wire) => {
        const reply = await postCall(wire, { method: "GetTask", type: JSON_TYPE, body: "", headers: { "content-encoding": "br" } });
        assert.deepEqual([reply.status, reply.headers.get("accept-encoding")], [501, "gzip"]);
        assert.equal((await jsonOf(reply))["code"], "unimplemented");
      }));
  });
}
