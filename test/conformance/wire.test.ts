/** Rules about what is on the wire of the two bindings over JSON that no other test shows. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { TaskError } from "../../src/core/errors.ts";
import { openBed, send, sharedBed, stateOf, taskOf } from "../bindings/bed.ts";
import type { HttpReply } from "../bindings/callers/http.ts";
import { HookedStorage } from "../bindings/hooked-storage.ts";

const HEADERS = [
  ["a2a-version", "1.0"],
  ["content-type", "application/json"],
] as const;

/** The same stream on both bindings. */
const STREAMS: Readonly<Record<string, (request: JsonObject) => { target: string; body: string }>> = {
  "HTTP+JSON": (request) => ({ target: "/message:stream", body: JSON.stringify(request) }),
  "JSON-RPC": (params) => ({ target: "/", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params }) }),
};

/** Every member's name, and every string that is in a member which the schema gives an enum. */
function namesAndEnums(json: JsonValue, names: Set<string>, enums: Set<string>): void {
  if (Array.isArray(json)) for (const item of json) namesAndEnums(item, names, enums);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return;
  for (const [name, value] of Object.entries(json)) {
    names.add(name);
    if (name === "role" || name === "state") enums.add(value as string);
    namesAndEnums(value, names, enums);
  }
}

suite("JSON on the wire", () => {
  const bed = sharedBed();
  const post = (target: string, body: JsonValue | string, headers: readonly (readonly [string, string])[] = HEADERS): Promise<HttpReply> =>
    bed().rest.http.fetch({ method: "POST", target, headers, body: typeof body === "string" ? body : JSON.stringify(body) });

  for (const [name, form] of Object.entries(STREAMS)) {
    test(`R-258 R-259 R-272 R-387 C-46 has members in camelCase, enums by name, and nothing of 0.3: ${name}`, async () => {
      const names = new Set<string>();
      const enums = new Set<string>();
      for (const text of ["complete", "talk", "input", "reject", "reply hello"]) {
        const { target, body } = form(send(text, { message: { extensions: ["urn:x"], referenceTaskIds: ["t-0"] } }));
        for (const event of (await post(target, body)).text.split("\n\n").filter((one) => one !== "")) {
          namesAndEnums(JSON.parse(event.slice("data: ".length)) as JsonValue, names, enums);
        }
      }
      for (const member of names) assert.match(member, /^[a-z]+([A-Z][a-z]+)*$/);
      for (const old of ["kind", "final", "index", "createdAt", "lastModified"]) assert.ok(!names.has(old), old);
      for (const seen of ["statusUpdate", "artifactUpdate", "contextId", "messageId", "lastChunk", "referenceTaskIds"])
        assert.ok(names.has(seen), seen);
      for (const value of enums) assert.match(value, /^(TASK_STATE|ROLE)_[A-Z_]+$/);
    });
  }

  test("R-205 names of service parameters are taken in any case, values as they are", async () => {
    const uri = "urn:throughline:a2a:log:v1";
    for (const [version, extensions] of [
      ["A2A-Version", "A2A-Extensions"],
      ["A2A-VERSION", "A2A-EXTENSIONS"],
      ["a2a-version", "a2a-extensions"],
    ] as const) {
      const ask = (listed: string): Promise<HttpReply> =>
        bed().rest.http.fetch({
          method: "GET",
          target: "/tasks",
          headers: [
            [version, "1.0"],
            [extensions, listed],
          ],
        });
      const reply = await ask(uri);
      assert.deepEqual([reply.status, reply.headers.get("a2a-extensions")], [200, uri]);
      assert.equal((await ask(uri.toUpperCase())).headers.get("a2a-extensions"), undefined);
    }
  });

  test("R-318 HTTP+JSON and JSON-RPC share a URL", async () => {
    const { id } = taskOf(await bed().rest.unary("SendMessage", send("complete")));
    const read = await post("/", { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } });
    const { result } = JSON.parse(read.text) as { result: JsonValue };
    const plain = await bed().rest.http.fetch({ method: "GET", target: `/tasks/${id}`, headers: [["a2a-version", "1.0"]] });
    assert.deepEqual(JSON.parse(plain.text), result);
  });

  test("R-378 the URL of a part is handed on and never fetched", async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
    const task = taskOf(await bed().rest.unary("SendMessage", send("", { message: { parts: [{ text: "complete" }, { url }] } })));
    server.close();
    assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
    assert.ok(JSON.stringify(task["history"]).includes(url));
    assert.equal(asked, 0);
  });
});

test("R-238 R-253 an error that passes says when to ask again, in a detail and in a header", async () => {
  const storage = new HookedStorage();
  await using bed = await openBed({ storage });
  const { id } = taskOf(await bed.rest.unary("SendMessage", send("input")));
  storage.afterMeta = () => Promise.reject(new TaskError("STORE_UNAVAILABLE", "the store is away", { retryAfterMs: 1500 }));
  const { status, headers, text } = await bed.rest.http.fetch({ method: "GET", target: `/tasks/${id}`, headers: HEADERS });
  storage.afterMeta = undefined;
  assert.deepEqual([status, headers.get("retry-after")], [503, "2"]);
  const { error } = JSON.parse(text) as { error: { details: JsonObject[] } };
  const retry = error.details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.RetryInfo");
  assert.equal(retry?.["retryDelay"], "1.500s");
});
