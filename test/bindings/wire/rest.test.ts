import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { openBed, send, sharedBed, startTask, taskOf } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";

const VERSION = ["a2a-version", "1.0"] as const;
const A2A_JSON = ["content-type", "application/a2a+json"] as const;
const JSON_TYPE = ["content-type", "application/json"] as const;

/** The reason of an error; its form is checked on the way. */
function reasonOf({ status, headers, text }: HttpReply): string {
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("content-length"), String(Buffer.byteLength(text)));
  const { error } = JSON.parse(text) as { error: JsonObject };
  assert.deepEqual(Object.keys(error), ["code", "status", "message", "details"]);
  assert.equal(error["code"], status);
  const [info] = error["details"] as [JsonObject];
  assert.equal(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
  return info["reason"] as string;
}

suite("HTTP+JSON", () => {
  const bed = sharedBed();
  const fetch = (method: string, target: string, more: Partial<HttpRequest> = {}): Promise<HttpReply> =>
    bed().rest.http.fetch({ method, target, headers: [VERSION], ...more });

  test("R-231 R-232 R-235 R-239 C-07 C-08 writes an error as google.rpc.Status under `error`", async () => {
    const { status, text } = await fetch("GET", "/tasks/t-1");
    assert.equal(status, 404);
    assert.deepEqual(JSON.parse(text), {
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "no such task",
        details: [
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

  test("R-046 R-054 R-267 R-289 C-18 writes a task, a reply of a send and a list without wrapping", async () => {
    const body = JSON.stringify(send("complete"));
    const sent = await fetch("POST", "/message:send", { headers: [VERSION, A2A_JSON], body });
    const { task } = JSON.parse(sent.text) as { task: JsonObject };
    assert.equal(sent.headers.get("a2a-task-id"), task["id"]);
    assert.deepEqual(JSON.parse((await fetch("GET", `/tasks/${task["id"] as string}`)).text), task);
    const { text } = await fetch("GET", "/tasks?contextId=none");
    // REQUIRED members at their defaults, nothing else.
    assert.equal(text, '{"pageSize":50,"tasks":[],"nextPageToken":"","totalSize":0}');
  });

  test("R-048 R-058 R-062 R-173 R-260 R-261 leaves out what is absent: no artifacts in a list, no history of length 0", async () => {
    const contextId = crypto.randomUUID();
    await bed().rest.unary("SendMessage", send("complete", { message: { contextId } }));
    const { text } = await fetch("GET", `/tasks?contextId=${contextId}&historyLength=0`);
    const [task] = (JSON.parse(text) as { tasks: [{ status: { timestamp: string } }] }).tasks;
    assert.deepEqual(Object.keys(task), ["id", "contextId", "status"]);
    assert.match(task.status.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("R-290 R-291 R-292 takes queries by JSON name and proto name, enums by name and number, flags as words", async () => {
    const contextId = crypto.randomUUID();
    await bed().rest.unary("SendMessage", send("complete", { message: { contextId } }));
    for (const query of [
      `contextId=${contextId}&status=TASK_STATE_COMPLETED&includeArtifacts=true`,
      `context_id=${contextId}&status=3&include_artifacts=true&page_size=5&unknown=x`,
      `contextId=${encodeURIComponent(contextId)}&includeArtifacts=true&statusTimestampAfter=2020-01-01T00%3A00%3A00Z`,
    ]) {
      const { text } = await fetch("GET", `/tasks?${query}`);
      const { totalSize, tasks } = JSON.parse(text) as { totalSize: number; tasks: [{ artifacts: JsonObject[] }] };
      assert.equal(totalSize, 1, query);
      assert.equal(tasks[0].artifacts.length, 1, query);
    }
  });

  for (const [query, field] of [
    ["pageSize=0", "pageSize"],
    ["pageSize=many", "pageSize"],
    ["pageSize=1.5", "pageSize"],
    ["pageSize=1&pageSize=2", "pageSize"],
    ["status=TASK_STATE_RUNNING", "status"],
    ["status=working", "status"],
    ["includeArtifacts=yes", "includeArtifacts"],
    ["statusTimestampAfter=yesterday", "statusTimestampAfter"],
    ["contextId=%FF", "contextId"],
    ["historyLength=-1", "historyLength"],
  ] as const) {
    test(`R-052 R-237 R-251 C-41 names the bad parameter of ?${query}`, async () => {
      const reply = await fetch("GET", `/tasks?${query}`);
      assert.equal(reply.status, 400);
      assert.equal(reasonOf(reply), "INVALID_ARGUMENT");
      const { error } = JSON.parse(reply.text) as { error: { details: { fieldViolations: { field: string }[] }[] } };
      assert.deepEqual(
        error.details[1]?.fieldViolations.map((violation) => violation.field),
        [field],
      );
    });
  }

  for (const [method, target, status, allow] of [
    ["GET", "/nothing", 404, undefined],
    ["GET", "/tasks/", 404, undefined],
    ["GET", "/tasks/x/y", 404, undefined],
    ["POST", "/message:sendx", 404, undefined],
    ["POST", "/v1/message:send", 404, undefined],
    ["GET", "//tasks", 404, undefined],
    ["GET", "/acme/tasks", 404, undefined],
    ["POST", "/acme/message:send", 404, undefined],
    ["GET", "/tasks/x:cancel", 405, "POST"],
    ["PUT", "/tasks/x", 405, "GET"],
    ["POST", "/tasks", 405, "GET"],
    ["DELETE", "/tasks/x:subscribe", 405, "GET, POST"],
    ["GET", "/message:send", 405, "POST"],
    ["PUT", "/tasks/x/pushNotificationConfigs", 405, "GET, POST"],
    ["PATCH", "/tasks/x/pushNotificationConfigs/c", 405, "DELETE, GET"],
    ["HEAD", "/tasks", 405, "GET"],
    ["OPTIONS", "/tasks", 405, "GET"],
  ] as const) {
    test(`R-299 C-56 PR-07 answers ${status} in JSON to ${method} ${target}`, async () => {
      const reply = await fetch(method, target);
      assert.equal(reply.status, status);
      assert.equal(reply.headers.get("allow"), allow);
      if (method !== "HEAD") assert.equal(reasonOf(reply), status === 404 ? "PATH_NOT_FOUND" : "METHOD_NOT_ALLOWED");
    });
  }

  for (const [name, body, type] of [
    ["no body and no type", undefined, undefined],
    ["no body and application/json", undefined, "application/json"],
    ["no body and text/plain", undefined, "text/plain"],
    ["null", "null", "application/json"],
    ["{}", "{}", "application/a2a+json"],
    ["{} and no type", "{}", undefined],
    ["blanks", " \r\n", "application/json"],
    ["unknown members", '{"x":1,"final":true}', "application/json"],
  ] as const) {
    const headers = [VERSION, ...(type === undefined ? [] : [["content-type", type] as const])];
    test(`C-01 C-54 P-23 takes ${name} as the body of :cancel and :subscribe`, async () => {
      const { rest } = bed();
      const canceled = await fetch("POST", `/tasks/${await startTask(rest, "input")}:cancel`, { headers, body });
      assert.equal(canceled.status, 200, canceled.text);
      const { id } = taskOf(await rest.unary("SendMessage", send("input")));
      const response = await rest.http.open({ method: "POST", target: `/tasks/${id}:subscribe`, headers, body });
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers["content-type"], "text/event-stream");
      response.destroy();
    });
  }

  test("C-54 takes a body whose id is the path's and refuses one that differs", async () => {
    const { rest } = bed();
    const id = await startTask(rest, "input");
    const other = await fetch("POST", `/tasks/${id}:cancel`, { headers: [VERSION, JSON_TYPE], body: '{"id":"other"}' });
    assert.deepEqual([other.status, reasonOf(other)], [400, "INVALID_ARGUMENT"]);
    const same = await fetch("POST", `/tasks/${id}:cancel`, { headers: [VERSION, JSON_TYPE], body: JSON.stringify({ id }) });
    assert.equal(same.status, 200);
  });

  for (const [name, body, reason] of [
    ["is no JSON", "{", "PARSE_ERROR"],
    ["is no UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "PARSE_ERROR"],
    ["is an array", "[]", "INVALID_ARGUMENT"],
    ["is a number", "1", "INVALID_ARGUMENT"],
    ["is missing", undefined, "INVALID_ARGUMENT"],
    [
      "has a part of two kinds",
      JSON.stringify({ message: { messageId: "m", role: 1, parts: [{ text: "a", url: "b" }] } }),
      "INVALID_ARGUMENT",
    ],
    ["nests without end", `{"metadata":${'{"a":'.repeat(5000)}1${"}".repeat(5001)}`, "INVALID_ARGUMENT"],
  ] as const) {
    test(`R-177 R-276 PR-08 refuses a body that ${name}`, async () => {
      const reply = await fetch("POST", "/message:send", { headers: [VERSION, JSON_TYPE], body });
      assert.equal(reply.status, 400);
      assert.equal(reasonOf(reply), reason);
    });
  }

  test("R-062 R-265 takes snake_case names, enum numbers, and null as unset", async () => {
    const said = {
      message_id: crypto.randomUUID(),
      role: 1,
      parts: [{ text: "return", media_type: "text/plain", filename: null }],
      task_id: null,
    };
    const body = JSON.stringify({ message: said, configuration: { history_length: 0, return_immediately: false }, metadata: null });
    const reply = await fetch("POST", "/message:send", { headers: [VERSION, JSON_TYPE], body });
    assert.equal(reply.status, 200, reply.text);
    assert.equal((JSON.parse(reply.text) as { task: JsonObject }).task["history"], undefined);
  });

  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/grpc", "nonsense"]) {
    test(`C-61 answers 415 to a body of ${type}`, async () => {
      const reply = await fetch("POST", "/message:send", {
        headers: [VERSION, ["content-type", type]],
        body: JSON.stringify(send("return")),
      });
      assert.equal(reply.status, 415);
      assert.equal(reasonOf(reply), "CONTENT_TYPE_NOT_SUPPORTED");
    });
  }

  for (const [sent, accept, answered] of [
    ["application/a2a+json", undefined, "application/a2a+json"],
    ["application/json", undefined, "application/json"],
    ["application/json; charset=utf-8", "*/*", "application/json"],
    ["Application/A2A+JSON", undefined, "application/a2a+json"],
    ["application/json", "application/a2a+json", "application/a2a+json"],
    ["application/a2a+json", "application/json", "application/json"],
    [undefined, undefined, "application/a2a+json"],
    [undefined, "text/html, application/json;q=0.9", "application/json"],
  ] as const) {
    test(`R-288 C-09 answers in ${answered} where ${sent} was sent and ${accept} is accepted`, async () => {
      const headers = [VERSION, ["content-type", sent], ["accept", accept]].filter((one): one is [string, string] => one[1] !== undefined);
      const reply = await fetch("POST", "/message:send", { headers, body: JSON.stringify(send("return")) });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.headers.get("content-type"), answered);
    });
  }

  test("R-298 does not mistake a colon in an id for a verb, and takes escapes", async () => {
    for (const id of ["a:b", "x:cancel:y", "a%3Acancel"]) {
      const reply = await fetch("GET", `/tasks/${id}`);
      assert.equal(reasonOf(reply), "TASK_NOT_FOUND");
      assert.match(reply.text, new RegExp(JSON.stringify(decodeURIComponent(id))));
    }
  });
});

test("the default type of replies is an option", async () => {
  await using bed = await openBed({ jsonContentType: "application/json" });
  const reply = await bed.rest.http.fetch({ method: "GET", target: "/tasks", headers: [VERSION] });
  assert.equal(reply.headers.get("content-type"), "application/json");
});
