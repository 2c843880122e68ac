/** Errors in the forms that servers have, and had before 1.0.1. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type Answer, JSON_BINDINGS, RawServer } from "./raw-server.ts";
import { factsOf } from "./ways.ts";

const INFO = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "TASK_NOT_CANCELABLE",
  domain: "a2a-protocol.org",
  metadata: { taskId: "t" },
};
const PROBLEM = "application/problem+json";
const A2A = "a2a-protocol.org";

interface Row {
  readonly name: string;
  readonly answer: Answer;
  readonly reason: string;
  readonly code: Code;
  readonly message: string;
  readonly domain?: string;
  readonly metadata?: Record<string, string>;
}

const json = (status: number, body: JsonValue, type = "application/json"): Answer => ({ status, type, body: JSON.stringify(body) });
const problem = (status: number, name: string, more: Record<string, JsonValue> = {}): Answer =>
  json(status, { type: `https://a2a-protocol.org/errors/${name}`, title: "A Title", status, detail: "in detail", ...more }, PROBLEM);

const REST: readonly Row[] = [
  {
    name: "C-06 ErrorInfo decides before a status of old",
    answer: json(409, { error: { code: 409, status: "ABORTED", message: "no", details: [INFO] } }),
    reason: "TASK_NOT_CANCELABLE",
    code: Code.FailedPrecondition,
    message: "no",
    metadata: { taskId: "t" },
  },
  {
    name: "C-07 google.rpc.Status with gRPC's number, and no member around it",
    answer: json(400, { code: 9, message: "no", details: [INFO] }),
    reason: "TASK_NOT_CANCELABLE",
    code: Code.FailedPrecondition,
    message: "no",
    metadata: { taskId: "t" },
  },
  ...(
    [
      ["task-not-found", 404, "TASK_NOT_FOUND", Code.NotFound],
      ["task-not-cancelable", 409, "TASK_NOT_CANCELABLE", Code.FailedPrecondition],
      ["content-type-not-supported", 415, "CONTENT_TYPE_NOT_SUPPORTED", Code.InvalidArgument],
      ["invalid-agent-response", 502, "INVALID_AGENT_RESPONSE", Code.Internal],
      ["unsupported-operation", 400, "UNSUPPORTED_OPERATION", Code.FailedPrecondition],
    ] as const
  ).map(([name, status, reason, code]) => ({
    name: `C-07 problem+json ${name}`,
    answer: problem(status, name),
    reason,
    code,
    message: "in detail",
  })),
  {
    name: "C-07 problem+json with supportedVersions",
    answer: problem(400, "version-not-supported", { supportedVersions: ["0.3", "1.0"] }),
    reason: "VERSION_NOT_SUPPORTED",
    code: Code.FailedPrecondition,
    message: "in detail",
    metadata: { supportedVersions: "0.3,1.0" },
  },
  {
    name: "C-06 409 alone",
    answer: json(409, { title: "Conflict", status: 409 }, PROBLEM),
    reason: "TASK_NOT_CANCELABLE",
    code: Code.FailedPrecondition,
    message: "Conflict",
  },
  {
    name: "C-06 415 alone",
    answer: json(415, { message: "not this" }),
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    code: Code.InvalidArgument,
    message: "not this",
  },
  {
    name: "a JSON-RPC error within",
    answer: json(404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "no such task" } }),
    reason: "TASK_NOT_FOUND",
    code: Code.NotFound,
    message: "no such task",
  },
  {
    name: "a bare JSON-RPC error with free data",
    answer: json(400, { code: -32002, message: "too late", data: { taskId: "t" } }),
    reason: "TASK_NOT_CANCELABLE",
    code: Code.FailedPrecondition,
    message: "too late",
    metadata: { taskId: "t" },
  },
  {
    name: "a path that a framework does not know",
    answer: json(404, { detail: "Not Found" }),
    reason: "NOT_FOUND",
    code: Code.NotFound,
    message: "Not Found",
    domain: "",
  },
  {
    name: "an error that is a text",
    answer: json(403, { timestamp: 1, status: 403, error: "Forbidden", path: "/" }),
    reason: "PERMISSION_DENIED",
    code: Code.PermissionDenied,
    message: "Forbidden",
    domain: "",
  },
  {
    name: "a gateway's page: nothing of it is told",
    answer: { status: 502, type: "text/html", body: "<html>Bad Gateway</html>" },
    reason: "UNAVAILABLE",
    code: Code.Unavailable,
    message: "HTTP status 502",
    domain: "",
  },
  {
    name: "a gateway's timeout is not the caller's",
    answer: { status: 504, type: undefined },
    reason: "UNAVAILABLE",
    code: Code.Unavailable,
    message: "HTTP status 504",
    domain: "",
  },
  {
    name: "JSON that says nothing",
    answer: json(500, []),
    reason: "INTERNAL",
    code: Code.Internal,
    message: "HTTP status 500",
    domain: "",
  },
  {
    name: "JSON that is none",
    answer: { status: 401, body: "{" },
    reason: "UNAUTHENTICATED",
    code: Code.Unauthenticated,
    message: "HTTP status 401",
    domain: "",
  },
  {
    name: "a redirect is not followed",
    answer: { status: 307, type: undefined, headers: { location: "https://elsewhere.example/" } },
    reason: "UNKNOWN",
    code: Code.Unknown,
    message: "HTTP status 307",
    domain: "",
  },
  {
    name: "an error with status 200",
    answer: json(200, { error: { code: 404, status: "NOT_FOUND", message: "no", details: [{ ...INFO, reason: "TASK_NOT_FOUND" }] } }),
    reason: "TASK_NOT_FOUND",
    code: Code.NotFound,
    message: "no",
    metadata: { taskId: "t" },
  },
];

const rpc = (error: JsonValue, status = 200): Answer => json(status, { jsonrpc: "2.0", id: null, error });

const JSON_RPC: readonly Row[] = [
  ...(
    [
      [-32001, "TASK_NOT_FOUND", Code.NotFound],
      [-32002, "TASK_NOT_CANCELABLE", Code.FailedPrecondition],
      [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", Code.FailedPrecondition],
      [-32004, "UNSUPPORTED_OPERATION", Code.FailedPrecondition],
      [-32005, "CONTENT_TYPE_NOT_SUPPORTED", Code.InvalidArgument],
      [-32006, "INVALID_AGENT_RESPONSE", Code.Internal],
      [-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", Code.FailedPrecondition],
      [-32008, "EXTENSION_SUPPORT_REQUIRED", Code.FailedPrecondition],
      [-32009, "VERSION_NOT_SUPPORTED", Code.FailedPrecondition],
    ] as const
  ).map(([number, reason, code]) => ({
    name: `C-10 ${number} without ErrorInfo`,
    answer: rpc({ code: number, message: "no" }),
    reason,
    code,
    message: "no",
  })),
  ...(
    [
      [-32700, "PARSE_ERROR", Code.InvalidArgument],
      [-32600, "INVALID_REQUEST", Code.InvalidArgument],
      [-32601, "METHOD_NOT_FOUND", Code.Unimplemented],
      [-32602, "INVALID_ARGUMENT", Code.InvalidArgument],
      [-32603, "INTERNAL", Code.Internal],
    ] as const
  ).map(([number, reason, code]) => ({
    name: `JSON-RPC's own ${number}`,
    answer: rpc({ code: number, message: "no" }),
    reason,
    code,
    message: "no",
    domain: "",
  })),
  {
    name: "C-10 ErrorInfo as data, in a list or alone",
    answer: rpc({ code: -32603, message: "no", data: INFO }),
    reason: "TASK_NOT_CANCELABLE",
    code: Code.FailedPrecondition,
    message: "no",
    metadata: { taskId: "t" },
  },
  {
    name: "data that is a problem",
    answer: rpc({ code: -32000, message: "no", data: { type: "https://a2a-protocol.org/errors/task-not-found", title: "x" } }),
    reason: "TASK_NOT_FOUND",
    code: Code.NotFound,
    message: "no",
  },
  {
    name: "C-60 an internal error whose status says more",
    answer: rpc({ code: -32603, message: "come back later" }, 503),
    reason: "UNAVAILABLE",
    code: Code.Unavailable,
    message: "come back later",
    domain: "",
  },
  {
    name: "a number of somebody's own",
    answer: rpc({ code: -31999, message: "who are you?" }, 401),
    reason: "UNAUTHENTICATED",
    code: Code.Unauthenticated,
    message: "who are you?",
    domain: "",
  },
  {
    name: "details that cannot be read are passed over",
    answer: rpc({
      code: -32001,
      message: "no",
      data: [{ ...INFO, reason: 7 }, "text", null, { "@type": "type.googleapis.com/unknown.Detail" }],
    }),
    reason: "TASK_NOT_FOUND",
    code: Code.NotFound,
    message: "no",
  },
];

for (const [binding, rows] of Object.entries({ "HTTP+JSON": REST, "JSON-RPC": JSON_RPC } as const)) {
  const { open } = JSON_BINDINGS[binding as keyof typeof JSON_BINDINGS];
  suite(`errors over ${binding}`, () => {
    for (const { name, answer, reason, code, message, domain = A2A, metadata = {} } of rows) {
      test(name, async () => {
        await using server = await RawServer.open(answer);
        using opened = open(server.url);
        for (const call of [opened.client.cancelTask({ id: "t" }), opened.client.sendStreamingMessage({})]) {
          const facts = await factsOf(call);
          const { reason: given, code: number, message: text, domain: owner, metadata: told } = facts;
          assert.deepEqual([given, number, text, owner, told], [reason, code, message, domain, metadata]);
          assert.equal(facts.unreached, false);
        }
      });
    }

    test("when to come back is told by RetryInfo, else by the header, in seconds or as a date", async () => {
      const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.5s" };
      const said = (details: JsonValue[], header: string): Answer => ({
        status: 429,
        headers: { "retry-after": header },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          error: { code: binding === "JSON-RPC" ? -32603 : 429, message: "", details, data: details },
        }),
      });
      const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
      const delays: (number | undefined)[] = [];
      for (const answer of [said([retry], "9"), said([], "9"), said([], inAnHour), said([], "soon")]) {
        await using server = await RawServer.open(answer);
        using opened = open(server.url);
        const facts = await factsOf(opened.client.getTask({ id: "t" }));
        assert.equal(facts.reason, "RESOURCE_EXHAUSTED");
        delays.push(facts.retryAfterMs);
      }
      const [info, seconds, date, none] = delays;
      assert.deepEqual([info, seconds, none], [1500, 9000, undefined]);
      assert.ok(date !== undefined && date > 3_500_000 && date <= 3_600_000);
    });
  });
}

test("C-07 the bad fields of a problem are those of BadRequest", async () => {
  const errors = [
    { field: "message.parts", message: "at least one" },
    { field: "message.role", description: "is required" },
    "text",
    { other: 1 },
  ];
  await using server = await RawServer.open(json(400, { title: "Invalid", status: 400, errors }, PROBLEM));
  using opened = JSON_BINDINGS["HTTP+JSON"].open(server.url);
  const { violations, code } = await factsOf(opened.client.sendMessage({}));
  assert.equal(code, Code.InvalidArgument);
  assert.deepEqual(violations, [
    { field: "message.parts", description: "at least one" },
    { field: "message.role", description: "is required" },
  ]);
});
