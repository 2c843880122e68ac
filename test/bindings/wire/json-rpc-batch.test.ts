import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { message, openBed, sharedBed } from "../bed.ts";
import type { HttpReply } from "../callers/http.ts";

const HEADERS = [
  ["a2a-version", "1.0"],
  ["content-type", "application/json"],
] as const;

const list = (id?: JsonValue, params: JsonValue = { contextId: "none" }): JsonObject => ({
  jsonrpc: "2.0",
  method: "ListTasks",
  params,
  ...(id !== undefined && { id }),
});

/** id and error code of each answer; `ok` where there is a result. */
function brief(reply: HttpReply): [JsonValue, number | "ok"][] {
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("content-type"), "application/json");
  const answers = JSON.parse(reply.text) as JsonObject[];
  return answers.map(({ id, error }) => [id as JsonValue, error === undefined ? "ok" : ((error as JsonObject)["code"] as number)]);
}

suite("a JSON-RPC batch", () => {
  const bed = sharedBed();
  const post = (body: JsonValue | string): Promise<HttpReply> =>
    bed().jsonRpc.http.fetch({
      method: "POST",
      target: "/",
      headers: HEADERS,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });

  test("of nothing is one error with a null id, and no array", async () => {
    const reply = await post([]);
    assert.equal(reply.status, 200);
    const { id, error } = JSON.parse(reply.text) as JsonObject;
    assert.deepEqual([id, (error as JsonObject)["code"]], [null, -32600]);
  });

  test("answers each element for itself, notifications not at all", async () => {
    const reply = await post([
      list(1),
      1,
      {},
      [],
      list(),
      { jsonrpc: "2.0", id: "b", method: "Nothing" },
      list("c", { status: "NO_STATE" }),
      { jsonrpc: "2.0", id: 2, method: "GetTask", params: { id: "none" } },
      { ...list(), id: {} },
      list(null),
    ]);
    assert.deepEqual(brief(reply), [
      [1, "ok"],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      ["b", -32601],
      ["c", -32602],
      [2, -32001],
      [null, -32600],
      [null, "ok"],
    ]);
  });

  test("gives large ids back as they came, each to its own element", async () => {
    const element = (id: string): string => `{"jsonrpc":"2.0","method":"ListTasks","params":{"contextId":"none"},"id":${id}}`;
    const ids = ["9007199254740993", "1", "9007199254740995", '"9007199254740997"', "12345678901234567890123"];
    const { text } = await post(`[${ids.map(element).join(",")}]`);
    assert.deepEqual(
      [...text.matchAll(/"id":([^,]+),"result"/g)].map((match) => match[1]),
      ids,
    );
  });

  test("of notifications only is carried out and answered 204", async () => {
    const contextId = crypto.randomUUID();
    const notify = (): JsonObject => ({ jsonrpc: "2.0", method: "SendMessage", params: { message: { ...message("return"), contextId } } });
    const reply = await post([notify(), notify()]);
    assert.deepEqual([reply.status, reply.text], [204, ""]);
    const { text } = await post(list(1, { contextId }));
    assert.match(text, /"totalSize":2/);
  });

  test("refuses a streaming method for that element alone, and starts nothing for it", async () => {
    const contextId = crypto.randomUUID();
    const params = { message: { ...message("return"), contextId } };
    const reply = await post([
      { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params },
      { jsonrpc: "2.0", id: 2, method: "SubscribeToTask", params: { id: "x" } },
      list(3),
    ]);
    assert.deepEqual(brief(reply), [
      [1, -32600],
      [2, -32600],
      [3, "ok"],
    ]);
    assert.match((await post(list(1, { contextId }))).text, /"totalSize":0/);
  });

  test("is taken up to maxBatch and refused beyond, without a warning of Node's about listeners", async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): number => warnings.push(warning);
    process.on("warning", warned);
    assert.equal(brief(await post(Array.from({ length: 20 }, (_, id) => list(id)))).length, 20);
    const reply = await post(Array.from({ length: 21 }, (_, id) => list(id)));
    const { id, error } = JSON.parse(reply.text) as JsonObject;
    assert.deepEqual([id, (error as JsonObject)["code"]], [null, -32600]);
    // Warnings are told in a later tick.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", warned);
    assert.deepEqual(warnings, []);
  });

  test("carries the version and the extensions of its request for each element", async () => {
    const headers = [["content-type", "application/json"]] as const;
    const reply = await bed().jsonRpc.http.fetch({ method: "POST", target: "/", headers, body: JSON.stringify([list(1), list(2)]) });
    assert.deepEqual(brief(reply), [
      [1, -32009],
      [2, -32009],
    ]);
    const uri = "urn:throughline:a2a:idempotent-send:v1";
    const echo = await bed().jsonRpc.http.fetch({
      method: "POST",
      target: "/",
      headers: [...HEADERS, ["a2a-extensions", `${uri}, urn:unknown`]],
      body: JSON.stringify([list(1), list(2)]),
    });
    assert.equal(echo.headers.get("a2a-extensions"), uri);
  });

  test("runs its elements side by side", async () => {
    const { agent } = bed();
    const gates = [agent.gate(), agent.gate()];
    const request = (at: number): JsonObject => ({
      jsonrpc: "2.0",
      id: at,
      method: "SendMessage",
      params: { message: message(`slow ${gates[at]?.name}`) },
    });
    const reply = post([request(0), request(1)]);
    await Promise.all(gates.map(({ reached }) => reached));
    for (const gate of gates.toReversed()) gate.open();
    assert.deepEqual(brief(await reply), [
      [0, "ok"],
      [1, "ok"],
    ]);
  });
});

test("maxBatch is an option", async () => {
  await using bed = await openBed({ maxBatch: 1 });
  const post = (body: JsonValue): Promise<HttpReply> =>
    bed.jsonRpc.http.fetch({ method: "POST", target: "/", headers: HEADERS, body: JSON.stringify(body) });
  assert.deepEqual(brief(await post([list(1)])), [[1, "ok"]]);
  assert.match((await post([list(1), list(2)])).text, /-32600/);
});

test("a batch of a stranger is refused as a whole", async () => {
  await using bed = await openBed({ tokens: { t: "alice" } });
  const reply = await bed.jsonRpc.http.fetch({ method: "POST", target: "/", headers: HEADERS, body: JSON.stringify([list(1)]) });
  assert.equal(reply.status, 401);
  assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer /);
  assert.equal((JSON.parse(reply.text) as { error: { code: number } }).error.code, -31401);
});
