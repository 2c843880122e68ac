import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ListTasksResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { jsonText } from "../../../src/rpc/json-output.ts";
import type { Agent } from "../../../src/core/agent.ts";
import { message, send, sharedBed } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";
import { ScenarioAgent } from "../scenario-agent.ts";
import { OpenApiBook, type Parameter, type Place } from "./openapi-book.ts";

const VERSION = ["a2a-version", "1.0"] as const;
const TOKEN = ["authorization", "Bearer t"] as const;

suite("what the OpenAPI document promises", { timeout: 120_000 }, () => {
  const bed = sharedBed({ tokens: { t: "alice" }, maxMessageBytes: 100_000 });

  /** Sends a request and checks the reply against the document. */
  async function call(
    method: string,
    target: string,
    body?: JsonValue,
    more: Partial<HttpRequest> = {},
  ): Promise<HttpReply & { json: JsonObject }> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const request: HttpRequest = { method, target, headers: [VERSION, TOKEN, ["content-type", "application/json"]], ...json, ...more };
    const { http } = bed().rest;
    const reply = await http.fetch(request);
    (await OpenApiBook.read(http)).check(request, reply);
    return { ...reply, json: reply.text.startsWith("{") ? (JSON.parse(reply.text) as JsonObject) : {} };
  }

  test("holds of every reply of a task's life, in both forms of JSON", async () => {
    const parts = [
      { text: "complete" },
      { raw: "aGk=", filename: "a", mediaType: "text/plain" },
      { url: "https://x" },
      { data: null, metadata: { a: [1] } },
    ];
    const { json } = await call("POST", "/message:send", send("", { message: { parts } }));
    const { id } = json["task"] as { id: string };
    for (const type of ["application/json", "application/a2a+json"]) {
      const { headers } = await call("GET", `/tasks/${id}?historyLength=1`, undefined, { headers: [VERSION, TOKEN, ["accept", type]] });
      assert.equal(headers.get("content-type"), type);
    }
    const { json: page } = await call("GET", "/tasks?includeArtifacts=true&pageSize=1");
    assert.ok((page as unknown as { totalSize: number }).totalSize > 0);
    assert.equal((await call("POST", `/tasks/${id}:cancel`)).status, 400);
    assert.equal((await call("GET", `/tasks/${id}:subscribe`)).status, 400);
  });

  test("holds of a canceled task", async () => {
    const { json } = await call("POST", "/message:send", send("input", { configuration: { returnImmediately: true } }));
    const { id } = json["task"] as { id: string };
    await call("POST", `/tasks/${id}:cancel`, { metadata: { why: "enough" } });
  });

  test("holds of every event of a stream", async () => {
    const { text, status } = await call("POST", "/message:stream", send("complete"), {
      headers: [VERSION, TOKEN, ["content-type", "application/json"], ["a2a-extensions", "urn:throughline:a2a:log:v1"]],
    });
    assert.equal(status, 200);
    assert.ok(text.includes('"task"') && text.includes('"statusUpdate"'), text);
  });

  test("holds of errors, with the statuses that are told of", async () => {
    const wrong = { message: { ...message("x"), parts: [] } };
    const seen: number[] = [];
    const note = async (reply: Promise<HttpReply>): Promise<void> => void seen.push((await reply).status);
    await note(call("GET", "/tasks/none"));
    await note(call("GET", "/tasks/none", undefined, { headers: [VERSION] }));
    await note(call("GET", "/tasks/none", undefined, { headers: [TOKEN] }));
    await note(call("POST", "/message:send", wrong));
    await note(call("POST", "/message:stream", wrong));
    await note(call("POST", "/message:send", undefined, { body: "{" }));
    await note(call("POST", "/message:send", undefined, { body: "x", headers: [VERSION, TOKEN, ["content-type", "text/plain"]] }));
    await note(call("POST", "/message:send", send("x".repeat(100_000))));
    await note(call("POST", "/tasks/none:cancel"));
    await note(call("POST", "/tasks/none:subscribe"));
    await note(call("GET", "/tasks?pageSize=0"));
    await note(call("GET", "/extendedAgentCard"));
    await note(call("POST", "/tasks/none/pushNotificationConfigs", { url: "https://x" }));
    assert.deepEqual(seen, [404, 401, 400, 400, 400, 400, 415, 413, 404, 404, 400, 400, 400]);
  });

  test("is strict enough to see a wrong reply", async () => {
    const open = await OpenApiBook.read(bed().rest.http);
    const headers = new Map([["content-type", "application/json"]]);
    const status = { state: "TASK_STATE_WORKING" };
    const good = { id: "t", status, history: [{ messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] }] };
    const reply = (json: JsonValue): HttpReply => ({ status: 200, headers, text: JSON.stringify(json) });
    open.check({ method: "GET", target: "/tasks/t" }, reply(good));
    for (const bad of [
      {},
      { ...good, status: "TASK_STATE_WORKING" },
      { ...good, status: { state: "working" } },
      { ...good, status: { ...status, timestamp: "yesterday" } },
      { ...good, history: [{ messageId: "m", role: "ROLE_AGENT", parts: [] }] },
      { ...good, history: [{ messageId: "m", role: "ROLE_AGENT", parts: [{}] }] },
      { ...good, history: [{ messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x", url: "y" }] }] },
      { ...good, metadata: [] },
    ]) {
      assert.throws(() => open.check({ method: "GET", target: "/tasks/t" }, reply(bad)), JSON.stringify(bad));
    }
    // REQUIRED members are there at their defaults.
    open.check(
      { method: "GET", target: "/tasks" },
      reply(
        JSON.parse(
          jsonText(ListTasksResponseSchema, {
            $typeName: "lf.a2a.v1.ListTasksResponse",
            tasks: [],
            nextPageToken: "",
            pageSize: 0,
            totalSize: 0,
          }),
        ) as JsonValue,
      ),
    );
  });

  test("asks of bodies what the server asks of them", async () => {
    const open = await OpenApiBook.read(bed().rest.http);
    const good = message("complete");
    const judge = async (body: JsonValue): Promise<[boolean, number]> => {
      const request = { method: "POST", target: "/message:send", body: JSON.stringify(body) };
      return [open.takes(request), (await call("POST", "/message:send", body)).status];
    };
    assert.deepEqual(await judge({ message: good }), [true, 200]);
    for (const bad of [
      {},
      { message: { ...good, messageId: "" } },
      { message: { role: "ROLE_USER", parts: good["parts"] } as JsonObject },
      { message: { ...good, role: "user" } },
      { message: { ...good, parts: [] } },
      { message: { ...good, parts: [{}] } },
      { message: { ...good, parts: [{ text: "x", url: "https://x" }] } },
      { message: good, configuration: { historyLength: -1 } },
      { message: good, configuration: { historyLength: 0.5 } },
    ]) {
      assert.deepEqual(await judge(bad), [false, 400], JSON.stringify(bad));
    }
  });

  test("bounds parameters as the server does", async () => {
    const open = await OpenApiBook.read(bed().rest.http);
    const status = async (
      { method, path }: Place,
      { name, in: where }: Parameter,
      value: string,
    ): Promise<{ status: number; names: boolean }> => {
      const filled = path.replace(/\{(\w+)\}/g, (_, field: string) =>
        where === "path" && field === name ? encodeURIComponent(value) : "none",
      );
      const target = where === "query" ? `${filled}?${name}=${encodeURIComponent(value)}` : filled;
      const { status: http, text } = await bed().rest.http.fetch({ method, target, headers: [VERSION, TOKEN] });
      return { status: http, names: text.includes(`"field":"${name}"`) };
    };
    let judged = 0;
    for (const place of open.places) {
      // Webhooks are off here: that is said before anything else.
      if (place.path.includes("pushNotificationConfigs")) continue;
      for (const parameter of open.parametersOf(place.operation)) {
        const { minimum, maximum, maxLength } = parameter.schema as Readonly<Record<string, number | undefined>>;
        const within = [minimum, maximum].filter((bound) => bound !== undefined).map(String);
        const beyond = [minimum === undefined ? [] : [minimum - 1], maximum === undefined ? [] : [maximum + 1]].flat().map(String);
        if (maxLength !== undefined) {
          within.push("x".repeat(maxLength));
          beyond.push("x".repeat(maxLength + 1));
        }
        for (const value of within) assert.ok(!(await status(place, parameter, value)).names, `${place.path} ${parameter.name} ${value}`);
        for (const value of beyond) {
          assert.deepEqual(await status(place, parameter, value), { status: 400, names: true }, `${place.path} ${parameter.name} ${value}`);
        }
        judged += beyond.length;
      }
    }
    assert.ok(judged >= 8);
    const pageSize = open.parametersOf(open.placeOf({ method: "GET", target: "/tasks" }).operation).find(({ name }) => name === "pageSize");
    assert.equal((await call("GET", "/tasks")).json["pageSize"], pageSize?.schema["default"]);
  });
});

suite("what the OpenAPI document promises of an agent that answers", { timeout: 60_000 }, () => {
  const bed = sharedBed({}, new ScenarioAgent({ acceptsMessages: true, card: { capabilities: { streaming: false } } }));

  test("holds of a plain message and of refused streams", async () => {
    const { http } = bed().rest;
    const open = await OpenApiBook.read(http);
    for (const [target, status] of [
      ["/message:send", 200],
      ["/message:stream", 400],
    ] as const) {
      const request = { method: "POST", target, headers: [VERSION], body: JSON.stringify(send("reply")) };
      const reply = await http.fetch(request);
      assert.equal(reply.status, status, reply.text);
      open.check(request, reply);
    }
  });
});

suite("what the OpenAPI document promises of webhooks and the extended card", { timeout: 60_000 }, () => {
  const agent: Agent = Object.assign(new ScenarioAgent(), {
    extendedCard: () => ({ name: "more", version: "2", description: "For those who are known" }),
  });
  const bed = sharedBed({ tokens: { t: "alice" }, push: { enabled: true } }, agent as ScenarioAgent);

  test("holds of every reply", async () => {
    const { http } = bed().rest;
    const open = await OpenApiBook.read(http);
    const call = async (method: string, target: string, body?: JsonValue): Promise<JsonObject> => {
      const headers = [VERSION, TOKEN];
      const request = { method, target, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
      const reply = await http.fetch(request);
      assert.equal(reply.status, 200, reply.text);
      open.check(request, reply);
      return JSON.parse(reply.text) as JsonObject;
    };
    const { id } = (await call("POST", "/message:send", send("complete")))["task"] as { id: string };
    const configs = `/tasks/${id}/pushNotificationConfigs`;
    const webhook = { url: "https://hooks.example/", token: "s", authentication: { scheme: "Bearer", credentials: "c" } };
    assert.ok(open.takes({ method: "POST", target: configs, body: JSON.stringify(webhook) }));
    const { id: configId } = await call("POST", configs, webhook);
    await call("GET", `${configs}/${configId as string}`);
    await call("GET", `${configs}?pageSize=0`);
    await call("DELETE", `${configs}/${configId as string}`);
    assert.equal((await call("GET", "/extendedAgentCard"))["name"], "more");
    for (const pageSize of [-1, 101]) {
      const request = { method: "GET", target: `${configs}?pageSize=${pageSize}`, headers: [VERSION, TOKEN] };
      const reply = await http.fetch(request);
      assert.equal(reply.status, 400);
      open.check(request, reply);
      const size = open.parametersOf(open.placeOf(request).operation).find(({ name }) => name === "pageSize");
      assert.throws(() => open.conforms(size?.schema ?? {}, pageSize, "pageSize"));
    }
  });
});
