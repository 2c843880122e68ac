/** Facts of the wire that the suites' clients trip over where a server is strict. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { eventData, HttpClient } from "../../bindings/callers/http.ts";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import { errorOf, framesOf, next, readTask, taskIn } from "./suite/read.ts";

/** All that ends a line for Python's `splitlines`, the last five for few others. */
const LINE_ENDS = "a\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029z";

suite("what the suites' clients do on the wire", { timeout: 120_000 }, () => {
  let bed: SuiteBed;
  before(async () => {
    bed = await serveProfile("full");
  });
  after(() => bed[Symbol.asyncDispose]());

  test("JSON-RPC is taken at the card's URL with and without a slash behind it", async () => {
    const [, , rpc] = bed.clients;
    const message = triggered("tck-complete-task", rpc);
    assert.equal(taskIn(await rpc.send(message)).state, "COMPLETED");
    const { status, text } = await rpc.raw(JSON.stringify({ jsonrpc: "2.0", id: "r", method: "SendMessage", params: { message } }));
    assert.equal(status, 200);
    const { id, result } = JSON.parse(text) as JsonObject;
    assert.deepEqual([id, taskIn(result as JsonObject).state], ["r", "COMPLETED"]);
  });

  test("R-265 R-271 JSON takes the proto's names, enums by number, and members that nobody knows", async () => {
    const [, rest, rpc] = bed.clients;
    const { id } = taskIn(await rpc.send(triggered("tck-input-required", rpc)));
    const follow = {
      message_id: "tck-complete-task-1",
      task_id: id,
      role: 1,
      parts: [{ text: "hi", media_type: "text/plain", x: 1 }],
      y: {},
    };
    const replies = [
      await rpc.raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: follow, z: [] }, w: 0 })),
      await rest.raw("/message:send", JSON.stringify({ message: { ...follow, task_id: "" }, z: null })),
    ];
    const [first, second] = replies.map(({ text }) => JSON.parse(text) as JsonObject);
    assert.deepEqual(taskIn(first?.["result"] as JsonObject).id, id);
    assert.deepEqual(taskIn(second as JsonObject).says, "Hello from TCK");
  });

  test("C-01 C-54 a cancel and a subscription are posted as JSON with no body at all; GET subscribes, too", async () => {
    const [, rest] = bed.clients;
    const { id } = taskIn(await rest.send(triggered("tck-input-required", rest)));
    const posted = rest.subscribe(id);
    const http = new HttpClient(Number(new URL(urlOf(bed.card, "HTTP+JSON")).port));
    const got = await http.open({ method: "GET", target: `/tasks/${id}:subscribe`, headers: [["a2a-version", "1.0"]] });
    const events = eventData(got);
    const first = JSON.parse((await events.next()).value ?? "") as JsonObject;
    assert.deepEqual(await next(posted), first);
    assert.equal(readTask(await rest.cancelTask(id)).state, "CANCELED");
    const [last] = await framesOf(posted);
    assert.deepEqual(JSON.parse((await events.next()).value ?? ""), last);
    http.close();
  });

  test("R-281 R-296 every event is one line of data, for readers that end lines where Python does", async () => {
    for (const client of bed.clients) {
      const parts = [{ text: LINE_ENDS }];
      const frames = await framesOf(client.stream(triggered("tck-stream-001", client, { parts })));
      const { history } = readTask(frames[0]?.["task"] as JsonValue);
      assert.deepEqual(history, [`ROLE_USER: ${LINE_ENDS}`]);
    }
  });

  test("C-34 an error before a stream is a plain reply", async () => {
    const [, rest, rpc] = bed.clients;
    const params = { id: "no-such-task" };
    const overRpc = await rpc.raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params }));
    assert.deepEqual([overRpc.status, overRpc.headers.get("content-type")], [200, "application/json"]);
    const overRest = await rest.raw("/tasks/no-such-task:subscribe", "");
    assert.deepEqual([overRest.status, overRest.headers.get("content-type")], [404, "application/json"]);
  });

  test("C-61 a body that is not JSON by its type: 415 on HTTP+JSON, -32005 on JSON-RPC", async () => {
    const [, rest, rpc] = bed.clients;
    const headers = { "content-type": "text/plain" };
    assert.equal((await rest.raw("/message:send", "hello", headers)).status, 415);
    const { text } = await rpc.raw("hello", headers);
    assert.equal(((JSON.parse(text) as JsonObject)["error"] as JsonObject)["code"], -32005);
  });

  test("C-09 a caller who speaks application/json is answered in it; who names nothing, in the type of the option", async () => {
    const [, rest] = bed.clients;
    const sent = await rest.raw("/message:send", JSON.stringify({ message: triggered("tck-complete-task", rest) }));
    assert.equal(sent.headers.get("content-type"), "application/json");
    for (const jsonContentType of ["application/a2a+json", "application/json"] as const) {
      await using other = await serveProfile("minimal", { jsonContentType });
      const http = new HttpClient(Number(new URL(urlOf(other.card, "HTTP+JSON")).port));
      const list = await http.fetch({ method: "GET", target: "/tasks", headers: [["a2a-version", "1.0"]] });
      assert.deepEqual([list.status, list.headers.get("content-type")], [200, jsonContentType]);
      http.close();
    }
  });

  test("R-234 R-235 R-236 C-10 every transport names the reason of an error in ErrorInfo, with the code of A2A 1.0.1", async () => {
    const codes = await Promise.all(
      bed.clients.map(async (client) => {
        const { id } = taskIn(await client.send(triggered("tck-complete-task", client)));
        const failures = [await errorOf(client.getTask("none")), await errorOf(client.cancelTask(id)), await errorOf(client.subscribe(id))];
        return failures.map(({ reason, code }) => `${reason} ${code}`);
      }),
    );
    assert.deepEqual(codes, [
      ["TASK_NOT_FOUND 5", "TASK_NOT_CANCELABLE 9", "UNSUPPORTED_OPERATION 9"],
      ["TASK_NOT_FOUND 404", "TASK_NOT_CANCELABLE 400", "UNSUPPORTED_OPERATION 400"],
      ["TASK_NOT_FOUND -32001", "TASK_NOT_CANCELABLE -32002", "UNSUPPORTED_OPERATION -32004"],
    ]);
  });
});

function urlOf(card: JsonObject, binding: string): string {
  const interfaces = card["supportedInterfaces"] as JsonObject[];
  return interfaces.find(({ protocolBinding }) => protocolBinding === binding)?.["url"] as string;
}
