import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { message, send } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { METHODS } from "./request-fields.ts";
import { assertClean, INJECTED } from "./surface.ts";
import { eventsOf, receivedOf, rpcFailure } from "./surfaces/http.ts";

const binding = "json-rpc";

suite("a JSON-RPC envelope", () => {
  const bed = sharedHostileBed();
  const post = async (body: string): Promise<string> => {
    const { jsonRpc } = bed();
    const headers = [
      ["a2a-version", "1.0"],
      ["content-type", "application/json"],
    ] as const;
    const reply = await jsonRpc.http.fetch({ method: "POST", target: "/", headers, body });
    assert.equal(reply.status, 200, reply.text);
    assertClean(receivedOf(reply));
    await assertServes(jsonRpc);
    return reply.text;
  };
  const refused = async (body: string, reason: string, id: JsonValue): Promise<void> => {
    const json = JSON.parse(await post(body)) as JsonObject;
    checkFailure({ binding }, rpcFailure(json, 200), reason);
    assert.deepEqual(json["id"], id);
  };
  const list = (members: string): string => `{"jsonrpc":"2.0","method":"ListTasks","params":{"contextId":"none"},${members}}`;

  for (const id of [
    "true",
    "{}",
    "[]",
    '{"a":1}',
    "[1]",
    `"${"x".repeat(1025)}"`,
    "9".repeat(1025),
    `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  ]) {
    test(`with an id that is none is no request: ${id.slice(0, 20)}`, () => refused(list(`"id":${id}`), "INVALID_REQUEST", null));
  }

  for (const id of [
    "0",
    "-0",
    "1e3",
    "0.1",
    "9007199254740992",
    "9007199254740993",
    "1e400",
    "-1e400",
    '"\\u0000"',
    '"__proto__"',
    '"\\ud800"',
  ]) {
    test(`gets its id back, in results, errors and events: ${id}`, async () => {
      const known = (text: string): unknown => JSON.parse(text.replace(/"id":(-?[\d.eE+-]+)/, '"id":"$1"')) as unknown;
      const expected = (known(`{"id":${id}}`) as JsonObject)["id"];
      const same = (text: string): void => {
        const got = (known(text) as JsonObject)["id"];
        // A number may come back in another way of writing it.
        assert.ok(got === expected || Number(got) === Number(expected), text);
      };
      same(await post(list(`"id":${id}`)));
      same(await post(`{"jsonrpc":"2.0","method":"Nothing","id":${id}}`));
      same(await post(`{"jsonrpc":"2.0","method":"ListTasks","params":{"pageSize":0},"id":${id}}`));
      const events = await post(`{"jsonrpc":"2.0","method":"SendStreamingMessage","params":${JSON.stringify(send("x"))},"id":${id}}`);
      for (const line of events.split("\n").filter((one) => one.startsWith("data: "))) same(line.slice("data: ".length));
    });
  }

  test("R-281 has no id that ends a line of its events or brings one in", async () => {
    for (const brought of ["\r\n", "\n\n", "\r", "\u0085", "\u2028", "\u2029"]) {
      const id = `a${brought}${INJECTED}: yes${brought}data: {}${brought}`;
      const text = await post(JSON.stringify({ jsonrpc: "2.0", id, method: "SendStreamingMessage", params: send("x") }));
      for (const event of eventsOf(text)) assert.equal(event["id"], id);
    }
  });

  const old = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "agent/getAuthenticatedExtendedCard",
  ];
  const push = ["set", "get", "list", "delete"].map((verb) => `tasks/pushNotificationConfig/${verb}`);
  const odd = [
    "",
    " ",
    "SendMessage ",
    "sendMessage",
    "SENDMESSAGE",
    "Send\u0000Message",
    "constructor",
    "__proto__",
    "toString",
    "\ud800",
    "x".repeat(100_000),
  ];
  for (const name of [...old, ...push, ...odd]) {
    test(`R-278 R-385 that names no method of 1.0 is told so: ${JSON.stringify(name.slice(0, 40))}`, () =>
      refused(JSON.stringify({ jsonrpc: "2.0", id: "a", method: name, params: send("x") }), "METHOD_NOT_FOUND", "a"));
  }

  for (const params of ["[]", "[{}]", '"x"', "0", "true", "false", '""']) {
    test(`R-280 with params that are no object begins nothing, for every method: ${params}`, async () => {
      const before = await bed().tasks();
      for (const { name } of METHODS) {
        const json = JSON.parse(await post(`{"jsonrpc":"2.0","id":1,"method":"${name}","params":${params}}`)) as JsonObject;
        checkFailure({ binding }, rpcFailure(json, 200), "INVALID_ARGUMENT", ["params"]);
      }
      assert.equal(await bed().tasks(), before);
    });
  }

  for (const [name, body, id] of [
    ["jsonrpc in another case", '{"JSONRPC":"2.0","id":1,"method":"ListTasks"}', 1],
    ["another version last", '{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"ListTasks"}', 1],
    ["jsonrpc within a list", '{"jsonrpc":["2.0"],"id":1,"method":"ListTasks"}', 1],
    ["a method that is an object", '{"jsonrpc":"2.0","id":1,"method":{"toString":"ListTasks"}}', 1],
    ["a method that is null", '{"jsonrpc":"2.0","id":1,"method":null}', 1],
    ["what is inherited only", '{"__proto__":{"jsonrpc":"2.0","method":"ListTasks"},"id":1}', 1],
    ["a response", '{"jsonrpc":"2.0","id":1,"result":{}}', 1],
    ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', 1],
  ] as const) {
    test(`that is wrong is no request: ${name}`, () => refused(body, "INVALID_REQUEST", id));
  }

  test("in a batch hurts none of the others", async () => {
    const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
    const elements = [
      list('"id":1'),
      "null",
      deep,
      '{"__proto__":null}',
      list('"id":9007199254740993'),
      `{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{"message":${deep}}}`,
      `{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":{"message":${JSON.stringify({ ...message("x"), role: "\ud800" })}}}`,
      list(`"id":${"9".repeat(2000)}`),
      list('"id":"last"'),
    ];
    const before = await bed().tasks();
    const text = await post(`[${elements.join(",")}]`);
    const answers = JSON.parse(text) as JsonObject[];
    const codes = answers.map(({ error }) => (error === undefined ? "ok" : (error as { code: number }).code));
    assert.deepEqual(codes, ["ok", -32600, -32600, -32600, "ok", -32602, -32602, -32600, "ok"]);
    assert.match(text, /"id":9007199254740993,"result"/);
    assert.equal(await bed().tasks(), before);
  });
});
