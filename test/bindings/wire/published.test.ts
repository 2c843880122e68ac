import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Egress } from "../../../src/bindings/progress.ts";
import { exchangeOf } from "../../../src/bindings/http-exchange.ts";
import { publish } from "../../../src/bindings/published.ts";
import { listen } from "../../../src/bindings/http.ts";
import { HttpClient } from "../callers/http.ts";

const SLOW = { egress: new Egress(1024 * 1024), maxQueuedBytes: 65_536, stalledStreamMs: 60_000, stallFlushMs: 1000 };

test("a document is made once, and again when what it is made from is another object", async () => {
  let source = { text: "one" };
  let made = 0;
  const handler = publish({
    paths: ["/it"],
    source: () => source,
    json: ({ text }) => {
      made += 1;
      return JSON.stringify(text);
    },
    maxAgeSeconds: 5,
  });
  const server = createServer((request, response) => void handler(exchangeOf(request, response, SLOW)));
  const client = new HttpClient(await listen(server, 0, "127.0.0.1"));
  try {
    const get = (): ReturnType<HttpClient["fetch"]> => client.fetch({ method: "GET", target: "/it" });
    const first = await get();
    assert.deepEqual([first.text, (await get()).text, made], ['"one"', '"one"', 1]);
    assert.equal(first.headers.get("cache-control"), "public, max-age=5");
    const validators = ({ headers }: typeof first): unknown[] => [headers.get("etag"), headers.get("last-modified")];
    // Another object that says the same is no other document.
    source = { text: "one" };
    assert.deepEqual(validators(await get()), validators(first));
    source = { text: "two" };
    const second = await get();
    assert.deepEqual([second.text, made], ['"two"', 3]);
    assert.notEqual(second.headers.get("etag"), first.headers.get("etag"));
    assert.ok(Date.parse(second.headers.get("last-modified") ?? "") >= Date.parse(first.headers.get("last-modified") ?? ""));
  } finally {
    client.close();
    server.close();
  }
});
