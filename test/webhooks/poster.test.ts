/** Places for requests to webhooks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { buildConnector } from "undici";
import type { WebhookRequest } from "../../src/worker/webhook-request.ts";
import { WebhookPoster } from "../../src/worker/webhook-poster.ts";
import { BadReceiver, type BadWay } from "./bad-receiver.ts";

/** What one webhook is posted, and what becomes of it. */
async function posting(way: BadWay): Promise<{ readonly posted: () => Promise<unknown>; readonly bad: BadReceiver } & AsyncDisposable> {
  const bad = await BadReceiver.open();
  const poster = new WebhookPoster({ timeoutMs: 60_000, perHost: 1, perOwner: 1, concurrency: 1, connect: buildConnector({}) });
  const url = new URL(bad.url(way));
  const make = async (): Promise<WebhookRequest> => ({ url, headers: {}, body: "{}" });
  return {
    posted: () => poster.post({ hostname: url.hostname, owner: "ann" }, new AbortController().signal, make),
    bad,
    async [Symbol.asyncDispose]() {
      await poster.close();
      await bad[Symbol.asyncDispose]();
    },
  };
}

test("a receiver that sends interim answers without end is cut off at once, not when its time is up", { timeout: 20_000 }, async () => {
  await using posts = await posting("endless hints");
  const cause = "it could not be reached (TOO_MANY_INTERIM_ANSWERS)";
  assert.deepEqual(await posts.posted(), { is: "retry", cause, afterMs: undefined });
});

test("a receiver whose answer has to be cut off has acknowledged, and gets no more than ten notifications a second", async () => {
  await using posts = await posting("endless body");
  const begun = performance.now();
  for (let nth = 0; nth < 5; nth += 1) assert.deepEqual(await posts.posted(), { is: "delivered" });
  // Timers may be a millisecond early.
  assert.ok(performance.now() - begun >= 5 * 99);
  assert.equal(posts.bad.requests.get("endless body"), 5);
});

test("Retry-After counts where a receiver says it twice: the first", async () => {
  const server = createServer((request, response) =>
    request.resume().on("end", () => response.writeHead(503, ["retry-after", "3", "retry-after", "4"]).end()),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const poster = new WebhookPoster({ timeoutMs: 60_000, perHost: 1, perOwner: 1, concurrency: 1, connect: buildConnector({}) });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  try {
    const posted = await poster.post({ hostname: url.hostname, owner: "ann" }, new AbortController().signal, async () => ({
      url,
      headers: {},
      body: "{}",
    }));
    assert.deepEqual(posted, { is: "retry", cause: "it answered HTTP 503", afterMs: 3000 });
  } finally {
    await poster.close();
    server.close();
  }
});

test("webhooks of one owner that hang, on however many hosts, leave places to those of another", async () => {
  const hanging = Promise.withResolvers<void>();
  let hang = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/good") return response.end();
    if ((hang += 1) === 3) hanging.resolve();
    return undefined;
  });
  await once(server.listen(0, "0.0.0.0"), "listening");
  const { port } = server.address() as AddressInfo;
  const poster = new WebhookPoster({ timeoutMs: 60_000, perHost: 1, perOwner: 3, concurrency: 4, connect: buildConnector({}) });
  const over = new AbortController();
  const post = (hostname: string, owner: string, path: string): ReturnType<WebhookPoster["post"]> =>
    poster.post({ hostname, owner }, over.signal, async () => ({
      url: new URL(`http://${hostname}:${port}${path}`),
      headers: {},
      body: "{}",
    }));
  const bad = Array.from({ length: 8 }, (_, at) => post(`127.0.0.${2 + at}`, "ann", "/hang"));
  try {
    await hanging.promise;
    assert.deepEqual(await post("127.0.0.1", "bob", "/good"), { is: "delivered" });
    assert.equal(hang, 3);
  } finally {
    over.abort();
    await Promise.all(bad);
    await poster.close();
    server.closeAllConnections();
    server.close();
  }
});
