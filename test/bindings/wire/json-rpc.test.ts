import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { message, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";

const HEADERS = [
  ["a2a-version", "1.0"],
  ["content-type", "application/json"],
] as const;

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: readonly JsonObject[];
}

suite("JSON-RPC", () => {
  const bed = sharedBed();
  const fetch = (body: string | Uint8Array | undefined, more: Partial<HttpRequest> = {}): Promise<HttpReply> =>
    bed().jsonRpc.http.fetch({ method: "POST", target: "/jsonrpc", headers: HEADERS, body, ...more });
  const post = async (request: JsonValue): Promise<JsonObject> => {
    const reply = await fetch(JSON.stringify(request));
    assert.equal(reply.status, 200);
    return JSON.parse(reply.text) as JsonObject;
  };
  const errorOf = ({ error }: JsonObject): RpcError => error as unknown as RpcError;
  const list = (id: JsonValue, params: JsonValue = { contextId: "none" }): JsonObject => ({
    jsonrpc: "2.0",
    id,
    method: "ListTasks",
    params,
  });

  test("R-046 R-054 R-267 R-279 R-280 C-18 answers with the standard's members and no others, as application/json", async () => {
    const { status, headers, text } = await fetch(JSON.stringify(list("r1")));
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(text, '{"jsonrpc":"2.0","id":"r1","result":{"pageSize":50,"tasks":[],"nextPageToken":"","totalSize":0}}');
  });

  test("R-231 R-236 R-240 C-10 C-60 answers an error of the call with HTTP 200 and the details of google.rpc", async () => {
    const { status, headers, text } = await fetch(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "GetTask", params: { id: "t-1" } }));
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "application/json");
    assert.deepEqual(JSON.parse(text), {
      jsonrpc: "2.0",
      id: 7,
      error: {
        code: -32001,
        message: "no such task",
        data: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "t-1" },
          },
        ],
      },
    });
  });

  for (const target of ["/", "/jsonrpc", "/jsonrpc/", "/a2a/jsonrpc", "/a2a/jsonrpc/", "/jsonrpc?x=y"]) {
    test(`is served at ${target}`, async () => {
      const reply = await fetch(JSON.stringify(list(1)), { target });
      assert.equal((JSON.parse(reply.text) as JsonObject)["id"], 1);
    });
  }

  for (const method of ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
    test(`PR-07 answers 405 in JSON to ${method}`, async () => {
      const reply = await fetch(undefined, { method, headers: [] });
      assert.equal(reply.status, 405);
      assert.equal(reply.headers.get("allow"), "POST");
      assert.equal(reply.headers.get("content-type"), "application/json");
      if (method !== "HEAD") assert.equal((JSON.parse(reply.text) as JsonObject)["id"], null);
    });
  }

  for (const [type, status] of [
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["text/json", 415],
    ["application/json; charset=utf-8", 200],
    ["APPLICATION/JSON", 200],
    ["application/a2a+json", 200],
    [undefined, 200],
  ] as const) {
    test(`R-279 C-61 answers ${status} to a body of type ${type}`, async () => {
      const headers = [["a2a-version", "1.0"] as const, ...(type === undefined ? [] : [["content-type", type] as const])];
      const reply = await fetch(JSON.stringify(list(1)), { headers });
      assert.equal(reply.status, status);
      const json = JSON.parse(reply.text) as JsonObject;
      if (status === 415)
        assert.deepEqual([json["id"], errorOf(json).code, errorOf(json).data[0]?.["reason"]], [null, -32005, "CONTENT_TYPE_NOT_SUPPORTED"]);
    });
  }

  for (const [name, body] of [
    ["nothing", ""],
    ["half a request", '{"jsonrpc":"2.0","id":1'],
    ["a trailing comma", '{"jsonrpc":"2.0","id":1,"method":"ListTasks",}'],
    ["no JSON", "hello"],
    ["NaN", "NaN"],
    ["no UTF-8", Uint8Array.of(0x22, 0xc3, 0x28, 0x22)],
    ["UTF-16", Buffer.from(JSON.stringify({ jsonrpc: "2.0" }), "utf16le")],
  ] as const) {
    test(`R-242 R-276 answers -32700 with a null id to ${name}`, async () => {
      const reply = await fetch(body);
      assert.equal(reply.status, 200);
      const json = JSON.parse(reply.text) as JsonObject;
      assert.deepEqual([json["id"], errorOf(json).code], [null, -32700]);
    });
  }

  const good = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
  for (const [name, request, id] of [
    ["a number", 1, null],
    ["a string", "x", null],
    ["null", null, null],
    ["true", true, null],
    ["an empty object", {}, null],
    ["no jsonrpc", { id: 1, method: "ListTasks" }, 1],
    ["another jsonrpc", { ...good, jsonrpc: "1.0" }, 1],
    ["jsonrpc as a number", { ...good, jsonrpc: 2 }, 1],
    ["no method", { jsonrpc: "2.0", id: "a" }, "a"],
    ["method as a number", { ...good, method: 1 }, 1],
    ["an object as id", { ...good, id: {} }, null],
    ["an array as id", { ...good, id: [1] }, null],
    ["true as id", { ...good, id: true }, null],
    ["no id and no method", { jsonrpc: "2.0" }, null],
  ] as const) {
    test(`R-242 R-277 answers -32600 to an envelope that is wrong: ${name}`, async () => {
      const json = await post(request as JsonValue);
      assert.deepEqual([json["id"], errorOf(json).code], [id, -32600]);
    });
  }

  test("R-242 R-278 R-385 C-51 P-19 answers -32601 to a method that is none", async () => {
    for (const method of ["message/send", "sendMessage", "Nothing", "", "constructor", "__proto__", "lf.a2a.v1.A2AService/GetTask"]) {
      const json = await post({ jsonrpc: "2.0", id: 1, method, params: {} });
      assert.deepEqual([json["id"], errorOf(json).code], [1, -32601], method);
    }
  });

  test("R-242 answers -32602 to params that are no object", async () => {
    for (const params of [[], ["x"], "x", 1, true, false]) {
      const json = await post(list(1, params));
      assert.equal(errorOf(json).code, -32602);
      assert.deepEqual(errorOf(json).data[1]?.["fieldViolations"], [{ field: "params", description: "is an object" }]);
    }
  });

  test("R-141 C-52 takes absent and null params as {}", async () => {
    for (const request of [
      { jsonrpc: "2.0", id: 1, method: "ListTasks" },
      { jsonrpc: "2.0", id: 1, method: "ListTasks", params: null },
    ]) {
      assert.equal((await post(request))["error"], undefined);
    }
    const json = await post({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" });
    assert.equal(errorOf(json).code, -32004);
  });

  for (const [params, fields] of [
    [{ status: "TASK_STATE_RUNNING" }, ["status"]],
    [{ status: "completed" }, ["status"]],
    [{ pageSize: "many", historyLength: 1.5 }, ["pageSize", "historyLength"]],
    [{ pageSize: [1] }, ["pageSize"]],
    [{ pageSize: 5, page_size: 6 }, ["pageSize"]],
    [{ contextId: 5 }, ["contextId"]],
    [{ contextId: "\ud800" }, ["contextId"]],
    [{ statusTimestampAfter: "2020-01-01" }, ["statusTimestampAfter"]],
    [{ includeArtifacts: "true" }, ["includeArtifacts"]],
  ] as const) {
    test(`R-237 R-251 R-386 C-41 names what is wrong in ${JSON.stringify(params)}`, async () => {
      const { code, data } = errorOf(await post(list(1, params as unknown as JsonValue)));
      assert.equal(code, -32602);
      const violations = (data[1]?.["fieldViolations"] ?? []) as JsonObject[];
      assert.deepEqual(
        violations.map(({ field }) => field),
        fields,
      );
    });
  }

  test("R-264 R-265 R-271 C-46 takes snake_case, enum numbers, numbers as strings, nulls and unknown members", async () => {
    const said = { message_id: crypto.randomUUID(), role: 1, parts: [{ text: "return", kind: "text" }], context_id: null, final: true };
    const params = { message: said, configuration: { history_length: "1", blocking: true }, extra: [{}] };
    const json = await post({ jsonrpc: "2.0", id: 1, method: "SendMessage", params, extra: 1 });
    const { task } = json["result"] as { task: JsonObject };
    assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
    assert.equal((task["history"] as JsonObject[]).length, 1);
  });

  for (const id of [
    '"x"',
    '""',
    '"\\u2028"',
    "0",
    "-1",
    "1",
    "1.5",
    "null",
    "9007199254740993",
    "-123456789012345678901234567890",
    "1e400",
  ]) {
    test(`R-281 gives back the id ${id}`, async () => {
      for (const params of ['{"contextId":"none"}', '{"contextId":5}', '{"contextId":"none","nested":{"id":77777777777777777777}}']) {
        const { text } = await fetch(`{"jsonrpc":"2.0","method":"ListTasks","params":${params},"id":${id}}`);
        // What is not a safe integer goes back as its source text; the others may be written in another way.
        assert.ok(text.startsWith(`{"jsonrpc":"2.0","id":${id},`), text);
      }
      const { text } = await fetch(
        `{"id":${id},"jsonrpc":"2.0","method":"SendStreamingMessage","params":${JSON.stringify(send("return"))}}`,
      );
      for (const event of text.split("\n\n").filter((one) => one !== ""))
        assert.ok(event.startsWith(`data: {"jsonrpc":"2.0","id":${id},"result":`), event);
    });
  }

  test("refuses an id that would make every event of a stream long", async () => {
    for (const id of ["x".repeat(1025), Number(`1${"0".repeat(300)}`)]) {
      const body = JSON.stringify(list(id));
      const reply = JSON.parse((await fetch(body.replace("1e+300", `1${"0".repeat(1100)}`))).text) as JsonObject;
      assert.deepEqual([reply["id"], errorOf(reply).code], [null, -32600]);
    }
  });

  test("judges params that nest too deep alike, whatever the id", async () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    for (const id of ["1", "12345678901234567890"]) {
      const { text } = await fetch(`{"jsonrpc":"2.0","id":${id},"method":"ListTasks","params":{"contextId":${deep}}}`);
      assert.equal(errorOf(JSON.parse(text) as JsonObject).code, -32602);
    }
  });

  test("carries out a notification and answers 204 with nothing", async () => {
    for (const method of ["SendMessage", "SendStreamingMessage"]) {
      const contextId = crypto.randomUUID();
      const params = { message: { ...message("return"), contextId } };
      const reply = await fetch(JSON.stringify({ jsonrpc: "2.0", method, params }));
      assert.deepEqual([reply.status, reply.text], [204, ""]);
      assert.equal(reply.headers.get("content-length"), undefined);
      const { result } = await post(list(1, { contextId }));
      assert.equal((result as JsonObject)["totalSize"], 1);
    }
  });

  test("answers 204 to a notification whatever becomes of it", async () => {
    for (const request of [
      { jsonrpc: "2.0", method: "GetTask", params: { id: "none" } },
      { jsonrpc: "2.0", method: "Nothing" },
      { jsonrpc: "2.0", method: "ListTasks", params: [] },
      { jsonrpc: "2.0", method: "SubscribeToTask", params: { id: "none" } },
    ]) {
      const reply = await fetch(JSON.stringify(request));
      assert.deepEqual([reply.status, reply.text], [204, ""]);
    }
  });

  test("a null id is no notification", async () => {
    const json = await post({ ...list(null) });
    assert.deepEqual([json["id"], "result" in json], [null, true]);
  });

  test("a send tells the task's id in a header", async () => {
    const reply = await fetch(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: send("return") }));
    const { task } = (JSON.parse(reply.text) as { result: { task: { id: string } } }).result;
    assert.equal(reply.headers.get("a2a-task-id"), task.id);
  });

  test("R-073 R-282 C-34 SV-09 a subscription to a task that has ended is a plain reply with HTTP 200", async () => {
    const { id } = taskOf(await bed().jsonRpc.unary("SendMessage", send("complete")));
    const reply = await fetch(JSON.stringify({ jsonrpc: "2.0", id: "s", method: "SubscribeToTask", params: { id } }));
    assert.deepEqual([reply.status, reply.headers.get("content-type")], [200, "application/json"]);
    const json = JSON.parse(reply.text) as JsonObject;
    assert.deepEqual([json["id"], errorOf(json).code], ["s", -32004]);
  });

  test("a canceled task stays findable through every path", async () => {
    const id = await startTask(bed().jsonRpc, "input");
    for (const target of ["/", "/a2a/jsonrpc/"]) {
      const reply = await fetch(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } }), { target });
      assert.equal((JSON.parse(reply.text) as { result: JsonObject }).result["id"], id);
    }
  });
});
