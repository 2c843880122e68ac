import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { message } from "../bindings/bed.ts";
import type { Failure } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { assertClean } from "./surface.ts";
import { receivedOf, rpcFailure, statusFailure } from "./surfaces/http.ts";

const DEEP = 45_000;
const MiB = 1024 * 1024;
const deep = (open: string, close: string, depth: number = DEEP): string => open.repeat(depth) + close.repeat(depth);
const said = (): string => JSON.stringify(message("x"));

suite("a body that is not what it should be", () => {
  const bed = sharedHostileBed();
  const post = async (binding: "rest" | "json-rpc", body: string | Uint8Array): Promise<Failure | undefined> => {
    const { rest, jsonRpc } = bed();
    const surface = binding === "rest" ? rest : jsonRpc;
    const reply = await surface.http.fetch({
      method: "POST",
      target: binding === "rest" ? "/message:send" : "/jsonrpc",
      headers: [
        ["a2a-version", "1.0"],
        ["content-type", "application/json"],
      ],
      body,
    });
    assertClean(receivedOf(reply));
    await assertServes(surface);
    if (binding === "rest") return reply.status === 200 ? undefined : statusFailure(reply);
    const json = JSON.parse(reply.text) as object;
    return "error" in json ? rpcFailure(json as never, reply.status) : undefined;
  };
  /** Posts it as it is to HTTP+JSON, and as the params of a JSON-RPC request. */
  const refusedBy = async (body: string | Uint8Array, reason: string, fields: readonly string[] = []): Promise<void> => {
    const bytes = Buffer.from(body as string);
    const envelope = [Buffer.from('{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":'), bytes, Buffer.from("}")];
    const before = await bed().tasks();
    for (const [binding, sent] of [
      ["rest", bytes],
      ["json-rpc", Buffer.concat(envelope)],
    ] as const) {
      const failure = await post(binding, sent);
      assert.ok(failure !== undefined, `${binding} took it`);
      checkFailure({ binding }, failure, reason, fields);
    }
    assert.equal(await bed().tasks(), before, "a task has begun");
  };

  for (const [name, body] of [
    ["half of it", '{"message":{"messageId":"m"'],
    ["a trailing comma", `{"message":${said()},}`],
    ["more behind it", `{"message":${said()}} {}`],
    ["a comment", `{"message":${said()}/* */}`],
    ["single quotes", "{'message':{}}"],
    ["names without quotes", "{message:{}}"],
    ["NaN", '{"configuration":{"historyLength":NaN}}'],
    ["a number in hexadecimal", '{"configuration":{"historyLength":0x10}}'],
    ["a leading zero", '{"configuration":{"historyLength":01}}'],
    ["a control character in a text", `{"metadata":{"k":"a\u0000b"}}`],
    ["a line break in a text", '{"metadata":{"k":"a\nb"}}'],
    ["an escape that is none", '{"metadata":{"k":"\\x41"}}'],
    ["half an escape", '{"metadata":{"k":"\\u12"}}'],
    ["a byte that begins no character", Buffer.from('{"metadata":{"k":"\xff"}}', "latin1")],
    ["an overlong form", Buffer.from('{"metadata":{"k":"\xc0\x80"}}', "latin1")],
    ["half a surrogate pair in bytes", Buffer.from('{"metadata":{"k":"\xed\xa0\x80"}}', "latin1")],
    ["half a character at its end", Buffer.from('{"metadata":{"k":"\xc3"}}', "latin1")],
    ["UTF-16", Buffer.from(`{"message":${said()}}`, "utf16le")],
    ["UTF-32", Buffer.from(Array.from(Buffer.from(`{"message":{}}`), (byte) => [0, 0, 0, byte]).flat())],
    ["protobuf", Buffer.from("0a0178120a0a016d", "hex")],
    ["gzip", Buffer.from("1f8b0800000000000003ab0600", "hex")],
    ["a form", "message=hello&parts[]=x"],
    ["XML", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ["levels upon levels that are not closed", '{"a":'.repeat(DEEP)],
    ["a text without end", `{"metadata":{"k":"${"x".repeat(5 * MiB)}`],
  ] as const) {
    test(`R-276 is a parse error where it is no JSON in UTF-8: ${name}`, () => refusedBy(body, "PARSE_ERROR"));
  }

  test("R-370 is too much where it is ten million opening brackets", () => refusedBy("[".repeat(10_000_000), "MESSAGE_TOO_LARGE"));

  for (const [name, body] of [
    ["null in place of an object is an empty request", "null"],
    ["an empty object", "{}"],
    ["an object without a message", `{"metadata":{"k":${"9".repeat(300)}}}`],
    ["unknown members however deep", `{"x":${deep("[", "]")},"y":${deep('{"a":', "}").replace(":}", ":1}")}}`],
  ] as const) {
    test(`R-271 C-30 is judged by what is missing: ${name}`, () => refusedBy(body, "INVALID_ARGUMENT", ["message"]));
  }

  for (const [name, body, field] of [
    ["metadata", `{"message":${said()},"metadata":{"k":${deep("[", "]")}}}`, "metadata"],
    ["an object within objects", `{"message":${said()},"metadata":${deep('{"k":', "}").replace(":}", ":1}")}}`, "metadata"],
    ["data", `{"message":{"messageId":"m","role":1,"parts":[{"data":${deep("[", "]")}}]}}`, "message.parts[0].data"],
    ["a number", `{"message":${said()},"configuration":{"historyLength":${deep("[", "]")}}}`, "configuration.historyLength"],
  ] as const) {
    test(`is refused where thousands of levels lie in ${name}`, async () => {
      for (const [binding, sent] of [
        ["rest", body],
        ["json-rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${body}}`],
      ] as const) {
        const failure = await post(binding, sent);
        assert.equal(failure?.reason, "INVALID_ARGUMENT");
        assert.equal(failure.violations.length, 1);
        assert.ok(failure.violations[0]?.startsWith(field), failure.violations[0]);
      }
    });
  }

  for (const body of ["[]", '"x"', "1", "true", "[{}]"]) {
    test(`is refused as a whole where it is no object: ${body}`, async () => {
      const failure = await post("rest", body);
      assert.ok(failure);
      checkFailure({ binding: "rest" }, failure, "INVALID_ARGUMENT", [""]);
    });
  }

  test("a key that is given twice counts as it was given last, whatever the first was", async () => {
    const messages = `"message":5,"message":${said()},"message":${said()}`;
    for (const [binding, sent] of [
      ["rest", `{${messages}}`],
      [
        "json-rpc",
        `{"method":"Nothing","jsonrpc":"1.0","id":{},"jsonrpc":"2.0","id":1,"params":[],"method":"SendMessage","params":{${messages}}}`,
      ],
    ] as const)
      assert.equal(await post(binding, sent), undefined);
  });

  test("keys that name parts of objects change nothing for anybody", async () => {
    const poison = '"__proto__":{"message":{},"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"hasOwnProperty":null';
    for (const [binding, sent] of [
      ["rest", `{${poison},"message":{${poison},${said().slice(1)}}`],
      [
        "json-rpc",
        `{${poison},"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{${poison},"message":${said()},"metadata":{${poison}}}}`,
      ],
    ] as const)
      assert.equal(await post(binding, sent), undefined);
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  });
});
