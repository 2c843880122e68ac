import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { message } from "../bindings/bed.ts";
import { assertServes, sharedHostileBed } from "./bed.ts";
import { exchange, head, posted, replyOf } from "./raw-http.ts";
import { goodRequest, METHODS } from "./request-fields.ts";
import { assertClean, INJECTED } from "./surface.ts";
import { eventsOf } from "./surfaces/http.ts";
import { PLAIN } from "./texts.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** Every string of a value replaced, keys included where they are free. */
function poisoned(value: JsonValue, text: string): JsonValue {
  if (typeof value === "string") return text;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, poisoned(held, text)]));
}

/** A message whose every text is this one. */
function poisonedMessage(text: string): JsonObject {
  const free = { metadata: { [text]: { [text]: [text] } } };
  const parts = [{ text, filename: text, mediaType: text, ...free }, { url: text, ...free }, { data: { [text]: text } }];
  return { ...message("x"), messageId: text, contextId: text, parts, extensions: [text], referenceTaskIds: [text], ...free };
}

/** The body of a reply without its chunks. */
function unchunked(body: string): string {
  let text = "";
  for (let rest = body; ;) {
    const at = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.slice(0, at), 16);
    if (!(size > 0)) return text;
    text += rest.slice(at + 2, at + 2 + size);
    rest = rest.slice(at + 4 + size);
  }
}

suite("a text that would be a line of its own", () => {
  const bed = sharedHostileBed({ tenants: "any" });
  const port = (): number => bed().server.ports.http;

  for (const text of PLAIN) {
    const request = { message: poisonedMessage(text), metadata: { [text]: text }, configuration: { acceptedOutputModes: [text] } };
    const name = JSON.stringify(text);

    test(`stays a text in every event of a stream, whichever fields it is in: ${name}`, async () => {
      const envelope = { jsonrpc: "2.0", id: text, method: "SendStreamingMessage", params: request };
      for (const bytes of [posted("/message:stream", JSON.stringify(request), JSON_TYPE), posted("/jsonrpc", JSON.stringify(envelope))]) {
        const received = Buffer.from(await exchange(port(), bytes), "latin1").toString("utf8");
        assertClean(received);
        const { status, head: block, body } = replyOf(await exchange(port(), bytes));
        assert.equal(status, 200);
        assert.match(block, /^content-type: text\/event-stream\r?$/im);
        const events = eventsOf(Buffer.from(unchunked(body), "latin1").toString("utf8"));
        assert.ok(events.length > 0);
        const [first] = events as [JsonObject];
        assert.ok(JSON.stringify(first).includes(JSON.stringify(text).slice(1, -1)), "the text came back as it was");
      }
    });

    test(`stays a text in every reply and every error of every method: ${name}`, async () => {
      for (const surface of bed().json) {
        for (const method of METHODS) {
          const good = poisoned(goodRequest(method, { taskId: text }), text) as JsonObject;
          const bad = { ...good, tenant: text.slice(0, 5), pageToken: text, status: text, contextId: text, historyLength: text };
          for (const members of [good, bad, { ...good, tenant: text }]) {
            const pairs = Object.entries(members).map(([key, value]) => {
              const field = method.input.fields.find(({ jsonName }) => jsonName === key);
              const inBody = field === undefined || surface.placement(method, field) === "body";
              return {
                inBody,
                pair: [
                  key,
                  inBody ? JSON.stringify(value) : encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value)),
                ] as const,
              };
            });
            const placed = (wanted: boolean): (readonly [string, string])[] =>
              pairs.filter(({ inBody }) => inBody === wanted).map(({ pair }) => pair);
            assertClean((await surface.send(method, { params: placed(false), body: placed(true) })).received);
          }
        }
        await assertServes(surface);
      }
    });
  }

  for (const header of [
    "a2a-version",
    "a2a-extensions",
    "a2a-tenant",
    "last-event-id",
    "authorization",
    "accept",
    "content-type",
    "origin",
    "x-forwarded-for",
    "traceparent",
    "host",
  ]) {
    test(`stays in the header that it was in: ${header}`, async () => {
      for (const value of [
        'a"b\\c',
        "a: b",
        "<script>",
        "x".repeat(8000),
        "\u00ff\u00fe",
        "%0d%0ax-injected: yes",
        "a\tb",
        "",
        "1.0, 1.0\u0085x-injected",
        "*/*; q=2,;,",
      ]) {
        const bytes = head("GET /tasks?contextId=none", { [header]: value });
        const { status, body } = replyOf(await exchange(port(), bytes));
        assertClean(body);
        assert.ok([200, 400, 401, 404].includes(status), body);
      }
      for (const ending of ["\r", "\n", "\0"]) {
        const bytes = head("GET /tasks?contextId=none", { [header]: `1.0${ending}${INJECTED}: yes` });
        const received = await exchange(port(), bytes);
        assertClean(received);
        assert.match(received, /^HTTP\/1\.1 (?:200|400) /);
      }
    });
  }

  test("names a tenant in a path like any other text, and comes back within JSON only", async () => {
    for (const text of PLAIN) {
      const received = await exchange(port(), head(`GET /${encodeURIComponent(text)}/tasks`));
      assertClean(received);
      assert.match(received, /^HTTP\/1\.1 200 /);
    }
    for (const tenant of ["tasks", ".well-known", "%74asks", "%2ewell-known"]) {
      const { status, body } = replyOf(await exchange(port(), head(`GET /${tenant}/tasks`)));
      assert.equal(status, 404, body);
    }
  });
});
