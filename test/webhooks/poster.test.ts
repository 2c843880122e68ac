/** Places for requests to webhooks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { buildConnector } from "undici";
import { WebhookPoster } from "../../src/worker/webhook-poster.ts";

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
