import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Bed, send, sharedBed, startTask } from "../bed.ts";
import { HttpClient, type HttpRequest, textOf } from "../callers/http.ts";
import { LINE_ENDS } from "../scenario-agent.ts";

const KEEPALIVE_MS = 20;

/** The same streaming call on each of the two bindings that stream by SSE. */
const FORMS: Readonly<Record<string, (method: string, request: JsonObject) => HttpRequest>> = {
  "HTTP+JSON": (method, request) => ({
    method: "POST",
    target: method === "SendStreamingMessage" ? "/message:stream" : `/tasks/${request["id"] as string}:subscribe`,
    headers: [
      ["a2a-version", "1.0"],
      ["content-type", "application/json"],
    ],
    body: method === "SendStreamingMessage" ? JSON.stringify(request) : undefined,
  }),
  JSONRPC: (method, request) => ({
    method: "POST",
    target: "/",
    headers: [
      ["a2a-version", "1.0"],
      ["content-type", "application/json"],
    ],
    body: JSON.stringify({ jsonrpc: "2.0", id: "\u2028", method, params: request }),
  }),
};

for (const [name, form] of Object.entries(FORMS)) {
  suite(`server-sent events of ${name}`, () => {
    const bed = sharedBed({ keepaliveMs: KEEPALIVE_MS });
    const open = (own: Bed, method: string, request: JsonObject): Promise<IncomingMessage> => own.rest.http.open(form(method, request));

    test("SV-13 come with headers that keep proxies from holding them", async () => {
      const response = await open(bed(), "SendStreamingMessage", send("complete"));
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers["content-type"], "text/event-stream");
      assert.equal(response.headers["cache-control"], "no-cache");
      assert.equal(response.headers["x-accel-buffering"], "no");
      assert.equal(response.headers["transfer-encoding"], "chunked");
      assert.equal(response.headers["content-length"], undefined);
      assert.match(response.headers["a2a-task-id"] as string, /^[0-9a-f-]{36}$/);
      response.destroy();
    });

    test("R-281 R-296 C-05 SV-15 are one data line each, closed by a blank line, with nothing else", async () => {
      const text = await textOf(await open(bed(), "SendStreamingMessage", send("talk")));
      assert.match(text, /^(data: \{.*\}\n\n)+$/);
      assert.equal(text.match(/^data: /gm)?.length, 4);
      for (const field of ["id:", "event:", "retry:"]) assert.ok(!new RegExp(`^${field}`, "m").test(text));
    });

    test("hold no character that any reader takes for the end of a line", async () => {
      const text = await textOf(await open(bed(), "SendStreamingMessage", send("lines")));
      assert.ok(!/[\u0085\u2028\u2029\r]/.test(text));
      for (const escaped of ["\\u0085", "\\u2028", "\\u2029"]) assert.ok(text.includes(escaped), escaped);
      const event = text.split("\n\n").find((one) => one.includes("artifactUpdate"));
      const json = JSON.parse(event?.slice("data: ".length) ?? "") as JsonObject;
      const { artifactUpdate } = (json["result"] ?? json) as { artifactUpdate: { artifact: { parts: { text: string }[] } } };
      assert.equal(artifactUpdate.artifact.parts[0]?.text, LINE_ENDS);
    });

    test("SV-12 are kept alive by comments while nothing happens, between whole events", async () => {
      const own = bed();
      const gate = own.agent.gate();
      const response = await open(own, "SendStreamingMessage", send(`slow ${gate.name}`));
      let text = "";
      for await (const chunk of response) {
        text += String(chunk);
        if (text.split(": keep-alive\n\n").length > 2) gate.open();
      }
      assert.match(text, /^(data: .*\n\n|: keep-alive\n\n)+$/);
      assert.equal(text.match(/^data: /gm)?.length, 3);
    });

    test("R-031 SV-06 end with the response when the task has ended, and the connection serves the next call", async () => {
      const own = bed();
      const gate = own.agent.gate();
      const id = await startTask(own.rest, `slow ${gate.name}`);
      const oneSocket = new HttpClient(own.server.ports.http, { maxSockets: 1 });
      const response = await oneSocket.open(form("SubscribeToTask", { id }));
      const port = response.socket.localPort;
      gate.open();
      const text = await textOf(response);
      assert.ok(response.complete);
      assert.match(text, /TASK_STATE_COMPLETED[^\n]*\n\n$/);
      const next = await oneSocket.open({ method: "GET", target: "/tasks/none", headers: [["a2a-version", "1.0"]] });
      assert.equal(next.socket.localPort, port);
      assert.match(await textOf(next), /TASK_NOT_FOUND/);
      oneSocket.close();
    });
  });
}
