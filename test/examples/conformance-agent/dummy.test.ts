/** The dummy profile: every command, posted by hand as its suites do it, and over the other transports. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { DUMMY_EXTENSION } from "../../../examples/conformance-agent/dummy-agent.ts";
import { HttpClient } from "../../bindings/callers/http.ts";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import type { SuiteClient } from "./suite/client.ts";
import { framesOf, next, outline, readTask, type SeenTask, taskIn } from "./suite/read.ts";

suite("the dummy profile", { timeout: 120_000 }, () => {
  let bed: SuiteBed;
  before(async () => {
    bed = await serveProfile("dummy");
  });
  after(() => bed[Symbol.asyncDispose]());

  const say = (client: SuiteClient, text: string, more: JsonObject = {}): JsonObject =>
    triggered("dummy", client, { role: 1, parts: [{ text }], ...more });
  const told = async (client: SuiteClient, text: string, more?: JsonObject): Promise<SeenTask> =>
    taskIn(await client.send(say(client, text, more)));

  /** The same over every transport. */
  function everyTransport(name: string, body: (client: SuiteClient) => Promise<void>): void {
    test(name, async () => {
      for (const client of bed.clients) await body(client);
    });
  }

  test("is spoken to at the base URL, with a role by number and no version", async () => {
    const { port } = new URL((bed.card["supportedInterfaces"] as { url: string }[])[1]?.url ?? "");
    const http = new HttpClient(Number(port));
    const message = { messageId: "m-1", role: 1, parts: [{ text: "echo hello there" }] };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } });
    const { text } = await http.fetch({ method: "POST", target: "/", headers: [["content-type", "application/json"]], body });
    http.close();
    const task = taskIn((JSON.parse(text) as JsonObject)["result"] as JsonObject);
    assert.deepEqual([task.state, task.artifacts], ["COMPLETED", [[{ text: "hello there" }]]]);
  });

  everyTransport("echo: COMPLETED with the rest of the text as artifact; so is a text without a command", async (client) => {
    for (const [text, answer] of [
      ["echo two  words\nand a line", "two  words\nand a line"],
      ["  echo hi", "hi"],
      ["echo", ""],
      ["Hello, agent", "Hello, agent"],
      ["constructor", "constructor"],
    ] as const) {
      const task = await told(client, text);
      assert.deepEqual([task.state, task.artifacts], ["COMPLETED", [[{ text: answer }]]]);
    }
  });

  everyTransport("stream: statuses and artifact chunks, one after the other", async (client) => {
    const frames = await framesOf(client.stream(say(client, "stream")));
    assert.deepEqual(outline(frames), [
      "task SUBMITTED",
      "status WORKING",
      "artifact first ",
      "status WORKING",
      "+artifact! second",
      "status COMPLETED",
    ]);
  });

  for (const [command, state] of [
    ["ask", "INPUT_REQUIRED"],
    ["auth", "AUTH_REQUIRED"],
  ] as const) {
    everyTransport(`${command}: ${state} with a message; any follow-up completes with an artifact`, async (client) => {
      for (const answer of ["forty-two", "fail", "ask"]) {
        const { id: taskId, state: first, says } = await told(client, command);
        assert.equal(first, state);
        assert.notEqual(says, "");
        const task = await told(client, answer, { taskId });
        assert.deepEqual([task.id, task.state, task.artifacts], [taskId, "COMPLETED", [[{ text: answer }]]]);
      }
    });
  }

  everyTransport("slow: an update early; may be subscribed to, and canceled", async (client) => {
    const stream = client.stream(say(client, "slow"));
    const { id } = readTask((await next(stream))["task"] as JsonValue);
    assert.deepEqual(outline([await next(stream)]), ["status WORKING"]);
    const other = client.subscribe(id);
    assert.equal(readTask((await next(other))["task"] as JsonValue).state, "WORKING");
    assert.equal(readTask(await client.cancelTask(id)).state, "CANCELED");
    for (const rest of [await framesOf(stream), await framesOf(other)]) assert.equal(outline(rest).at(-1), "status CANCELED");
  });

  everyTransport("fail, reject: the state with a message", async (client) => {
    for (const [command, state] of [
      ["fail", "FAILED"],
      ["reject", "REJECTED"],
    ] as const) {
      const task = await told(client, command);
      assert.deepEqual([task.state, task.artifacts], [state, []]);
      assert.notEqual(task.says, "");
    }
  });

  everyTransport("file, data, multi: artifacts with a file, an object, three of them", async (client) => {
    const [[file] = []] = (await told(client, "file")).artifacts;
    assert.deepEqual(file, { raw: Buffer.from("hello, file\n").toString("base64"), filename: "hello.txt", mediaType: "text/plain" });
    const [[data] = []] = (await told(client, "data")).artifacts as JsonObject[][];
    assert.deepEqual([data?.["mediaType"], Object.keys(data?.["data"] as JsonObject)[0]], ["application/json", "text"]);
    assert.equal((await told(client, "multi")).artifacts.length, 3);
  });

  test("R-213 R-220 R-221 ext: the artifact lists the extensions that the call has activated and the card knows", async () => {
    for (const [listed, activated] of [
      [undefined, []],
      [`urn:nobody:knows, ${DUMMY_EXTENSION}`, [DUMMY_EXTENSION]],
    ] as const) {
      for (const client of bed.withHeaders({ "a2a-extensions": listed })) {
        const { task } = await client.send(say(client, "ext"));
        const [artifact] = (task as JsonObject)["artifacts"] as JsonObject[];
        assert.deepEqual(artifact?.["extensions"] ?? [], activated);
        assert.deepEqual(artifact?.["parts"], [{ data: { activated }, mediaType: "application/json" }]);
      }
    }
  });
});
