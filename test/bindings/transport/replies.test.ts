/** Requests as the bindings want them, and replies that are good in forms of their own. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { createConnectHttpTransport } from "../../../src/bindings/connect/transport.ts";
import { createJsonRpcTransport } from "../../../src/bindings/json-rpc/transport.ts";
import { createRestTransport } from "../../../src/bindings/rest/transport.ts";
import { type Answer, eventStream, idOf, JSON_BINDINGS, RawServer, type Received } from "./raw-server.ts";
import { factsOf, sendOf, watch } from "./ways.ts";

const TASK = { id: "t", status: { state: "TASK_STATE_WORKING" } };
const { "HTTP+JSON": REST, "JSON-RPC": JSON_RPC } = JSON_BINDINGS;

for (const [name, { open, wrap }] of Object.entries(JSON_BINDINGS)) {
  suite(`replies over ${name}`, () => {
    for (const [form, answer] of Object.entries({
      "200 and {}": { body: JSON.stringify(wrap({})) },
      "200 and null": { body: JSON.stringify(wrap(null)) },
      "200 and more than was asked for": { body: JSON.stringify(wrap({ deleted: true })) },
      "200 and nothing": { type: undefined },
      "200 and a word": { type: "text/plain", body: "deleted" },
      "204": { status: 204, type: undefined },
    } satisfies Record<string, Answer>)) {
      test(`C-28 nothing to say, said by ${form}`, async () => {
        await using server = await RawServer.open(answer);
        using opened = open(server.url);
        await opened.client.deleteTaskPushNotificationConfig({ taskId: "t", id: "c" });
      });
    }

    test("C-18 what is absent has its default", async () => {
      await using server = await RawServer.open({ body: JSON.stringify(wrap({})) });
      using opened = open(server.url);
      const { tasks, nextPageToken, totalSize } = await opened.client.listTasks({});
      assert.deepEqual([tasks, nextPageToken, totalSize], [[], "", 0]);
    });

    test("C-09 the media type of a good reply is of no matter as long as it is one of JSON", async () => {
      for (const type of ["application/json", "application/a2a+json; charset=utf-8", "Application/Vnd.Other+JSON", undefined]) {
        await using server = await RawServer.open({ type, body: JSON.stringify(wrap(TASK)) });
        using opened = open(server.url);
        assert.equal((await opened.client.getTask({ id: "t" })).id, "t");
      }
    });

    test("what is no task is INTERNAL, and the next call succeeds", async () => {
      const bad = ["", "{", "[]", '"t"', ...[[], { id: 7 }, { id: ["t"] }].map((result) => JSON.stringify(wrap(result)))];
      const left = [...bad];
      await using server = await RawServer.open((request) => ({ body: left.shift() ?? JSON.stringify(wrap(TASK, request)) }));
      using opened = open(server.url);
      for (const body of bad) assert.equal((await factsOf(opened.client.getTask({ id: "t" }))).code, Code.Internal, body);
      assert.equal((await opened.client.getTask({ id: "t" })).id, "t");
      await using page = await RawServer.open({ type: "text/html", body: JSON.stringify(wrap(TASK)) });
      using other = open(page.url);
      const { code, message } = await factsOf(other.client.getTask({ id: "t" }));
      assert.deepEqual([code, message], [Code.Internal, "the reply is text/html, not JSON"]);
    });

    test("a query of the URL goes with every request, and a slash at the end of its path is one", async () => {
      await using server = await RawServer.open({ body: JSON.stringify(wrap({})) });
      using opened = open(`${server.url}/base/?key=k%201`);
      await opened.client.listTasks({ pageSize: 2 });
      const [{ target } = { target: "" }] = server.received;
      assert.equal(target, name === "JSON-RPC" ? "/base/?key=k%201" : "/base/tasks?pageSize=2&key=k%201");
    });
  });
}

suite("requests over HTTP+JSON", () => {
  const sent = async (call: (server: RawServer) => Promise<unknown>, answer: Answer = { body: "{}" }): Promise<Received> => {
    await using server = await RawServer.open(answer);
    await call(server);
    const [request] = server.received;
    return request ?? assert.fail("no request");
  };

  test("C-09 have a body of application/a2a+json, and take both kinds of JSON", async () => {
    const { method, target, headers, body } = await sent(async ({ url }) => {
      using opened = REST.open(url);
      await opened.client.sendMessage({ ...sendOf("hello"), tenant: "acme" });
    });
    assert.deepEqual([method, target], ["POST", "/message:send"]);
    assert.equal(headers["content-type"], "application/a2a+json");
    assert.equal(headers.accept, "application/a2a+json, application/json");
    const { tenant, message } = JSON.parse(body) as { tenant: string; message: { role: string } };
    assert.deepEqual([tenant, message.role], ["acme", "ROLE_USER"]);
  });

  test("without a body have no type of one, and the query has what the path has not", async () => {
    const { method, target, headers, body } = await sent(async ({ url }) => {
      using opened = REST.open(`${url}/a2a`);
      await opened.client.listTasks({ tenant: "a b", contextId: "c/1", status: 2, historyLength: 0, includeArtifacts: false });
    });
    assert.deepEqual(
      [method, target, body],
      ["GET", "/a2a/tasks?tenant=a%20b&contextId=c%2F1&status=TASK_STATE_WORKING&historyLength=0&includeArtifacts=false", ""],
    );
    assert.equal(headers["content-type"], undefined);
  });

  test("ask for events first where a stream is wanted, and a caller's own headers win", async () => {
    const { headers } = await sent(async ({ url }) => {
      using opened = REST.open(url, { headers: { "Content-Type": "application/json" } });
      await watch(opened.client.sendStreamingMessage(sendOf("x")));
    }, eventStream([]));
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers.accept, "text/event-stream, application/a2a+json, application/json");
  });
});

suite("requests over JSON-RPC", () => {
  test("are posted to the URL as it is, with the method's name and an id each", async () => {
    await using server = await RawServer.open((request) => ({ body: JSON.stringify({ jsonrpc: "2.0", id: idOf(request), result: TASK }) }));
    using opened = JSON_RPC.open(`${server.url}/a2a/v1/`);
    for (const _ of [1, 2]) await opened.client.getTask({ id: "t", tenant: "acme" });
    const bodies = server.received.map(({ body }) => JSON.parse(body) as object);
    assert.deepEqual(
      bodies,
      [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "GetTask", params: { tenant: "acme", id: "t" } })),
    );
    const [{ method, target, headers } = { method: "", target: "", headers: {} }] = server.received;
    assert.deepEqual([method, target, headers["content-type"]], ["POST", "/a2a/v1/", "application/json"]);
  });

  test("take an id that comes back as text, and no other", async () => {
    const ids = ["1", "2", 99, undefined];
    await using server = await RawServer.open(() => ({ body: JSON.stringify({ jsonrpc: "2.0", id: ids.shift(), result: TASK }) }));
    using opened = JSON_RPC.open(server.url);
    for (const _ of [1, 2]) assert.equal((await opened.client.getTask({ id: "t" })).id, "t");
    for (const _ of [3, 4]) assert.equal((await factsOf(opened.client.getTask({ id: "t" }))).message, "the reply is to another request");
  });

  test("C-28 take a reply without a result where there is nothing to say, and nowhere else", async () => {
    await using server = await RawServer.open((request) => ({ body: JSON.stringify({ jsonrpc: "2.0", id: idOf(request) }) }));
    using opened = JSON_RPC.open(server.url);
    await opened.client.deleteTaskPushNotificationConfig({ taskId: "t", id: "c" });
    const { code, message } = await factsOf(opened.client.getTask({ id: "t" }));
    assert.deepEqual([code, message], [Code.Internal, "the reply has neither a result nor an error"]);
  });
});

suite("C-01 CL-19 SubscribeToTask over HTTP+JSON", () => {
  const events = eventStream([`data: ${JSON.stringify({ task: TASK })}\n\n`]);
  const status = (code: number, more: object = {}): Answer => ({ status: code, body: JSON.stringify(more) });
  const ours = {
    error: {
      code: 404,
      message: "no",
      details: [{ "@type": "google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }],
    },
  };

  /** Subscribes twice to a server that knows one verb, and says how it was asked and what came of it. */
  const asked = async (first: "POST" | "GET" | undefined, answers: Readonly<Record<string, Answer>>): Promise<unknown[]> => {
    await using server = await RawServer.open(({ method }) => answers[method] ?? status(405));
    using opened = REST.open(server.url, first === undefined ? {} : { subscribeVerb: first });
    const seen: unknown[] = [];
    for (const _ of [1, 2]) {
      const { frames, end } = await watch(opened.client.subscribeToTask({ id: "t", tenant: "acme" }));
      seen.push(end === "clean" ? frames.join() : end.code);
    }
    for (const { method, target, body } of server.received) {
      assert.deepEqual(
        [target, body],
        method === "GET" ? ["/tasks/t:subscribe?tenant=acme", ""] : ["/tasks/t:subscribe", '{"tenant":"acme"}'],
      );
    }
    return [server.received.map(({ method }) => method).join(" "), ...seen];
  };

  const GOOD = ["task WORKING", "task WORKING"];
  test("asks with POST", async () => assert.deepEqual(await asked(undefined, { POST: events, GET: events }), ["POST POST", ...GOOD]));
  for (const [name, answer] of Object.entries({ 405: status(405), 501: status(501), "404 without ErrorInfo of A2A": status(404) })) {
    test(`asks with GET after ${name}, and from then on`, async () => {
      assert.deepEqual(await asked("POST", { POST: answer, GET: events }), ["POST GET GET", ...GOOD]);
    });
  }
  test("asks the other way round where it is told to", async () => {
    assert.deepEqual(await asked("GET", { POST: events, GET: events }), ["GET GET", ...GOOD]);
    assert.deepEqual(await asked("GET", { POST: events }), ["GET POST POST", ...GOOD]);
  });
  test("does not ask again where the task is what is missing", async () => {
    const missing = status(404, ours);
    assert.deepEqual(await asked("POST", { POST: missing, GET: events }), ["POST POST", Code.NotFound, Code.NotFound]);
    assert.deepEqual(await asked("POST", { POST: status(405), GET: missing }), ["POST GET GET", Code.NotFound, Code.NotFound]);
  });
  test("keeps no verb where neither is known, nor after an error that says nothing of it", async () => {
    const none = [Code.Unimplemented, Code.Unimplemented];
    assert.deepEqual(await asked("POST", {}), ["POST GET POST GET", ...none]);
    const answers = [status(503), status(405), events];
    await using server = await RawServer.open(() => answers.shift() ?? status(500));
    using opened = REST.open(server.url);
    assert.equal((await factsOf(opened.client.subscribeToTask({ id: "t" }))).code, Code.Unavailable);
    assert.deepEqual((await watch(opened.client.subscribeToTask({ id: "t" }))).frames, ["task WORKING"]);
  });
});

test("what is no address, and a certificate without its key, are refused at once", () => {
  for (const make of [createRestTransport, createJsonRpcTransport, createConnectHttpTransport]) {
    for (const url of ["", "agent.example", "ftp://agent.example/", "/tasks"]) assert.throws(() => make({ url }), TypeError);
    assert.throws(() => make({ url: "https://agent.example", tls: { cert: "x" } }), /tls\.cert and tls\.key/);
  }
});
