/** A page in a real browser, from another origin than the server's: only what CORS grants reaches it. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Browser } from "puppeteer-core";
import { type Bed, collect, openBed } from "../bindings/bed.ts";
import { ClientPage, openBrowser } from "./browser.ts";
import type { Calling } from "./page.ts";

const LOG = "urn:throughline:a2a:log:v1";
const HEADERS = { "a2a-version": "1.0", "a2a-extensions": LOG, authorization: "Bearer s3cret" };

/** The id of a frame, by the position in its metadata. */
function eventIdOf(frame: unknown): string {
  const [event] = Object.values(frame as JsonObject) as [JsonObject & { readonly metadata: JsonObject }];
  const { position } = event.metadata[LOG] as { position: string };
  return `${(event["taskId"] ?? event["id"]) as string}/${position}`;
}

suite("a page of another origin", { timeout: 240_000 }, () => {
  const closing = new AsyncDisposableStack();
  let browser: Browser;
  let page: ClientPage;
  let bed: Bed;
  before(async () => {
    browser = closing.adopt(await openBrowser(), (one) => one.close());
    page = closing.use(await ClientPage.open(browser));
    bed = closing.use(await openBed({ cors: { origins: [page.origin] }, tokens: { s3cret: "alice" } }));
  });
  after(() => closing.disposeAsync());

  const calling = (protocol: Calling["protocol"], headers: Calling["headers"] = {}): Calling => ({
    protocol,
    baseUrl: `http://127.0.0.1:${bed.server.ports.http}`,
    headers: { ...HEADERS, ...headers },
  });

  for (const protocol of ["connect", "grpc-web"] as const) {
    test(`streams over ${protocol}, drops, comes back with its position, and has each event of the log once`, async () => {
      const gate = bed.agent.gate();
      const begun = await page.call("send", calling(protocol), `chunks ${gate.name}`, 3);
      const taskId = begun.taskId ?? assert.fail("no header a2a-task-id");
      assert.deepEqual([begun.frames.length, (await gate.reached).taskId], [3, taskId]);
      // The rest happens while the page is away; another reader sees all of it.
      const [first, , last] = begun.frames;
      const reader = bed.grpc.stream("SubscribeToTask", { id: taskId }, { headers: { ...HEADERS, "last-event-id": eventIdOf(first) } });
      gate.open(3);
      const { frames, end } = await collect(reader);
      assert.equal(end, "clean");
      const resumed = await page.call("subscribe", calling(protocol, { "last-event-id": eventIdOf(last) }), taskId);
      assert.equal(resumed.taskId, taskId);
      assert.deepEqual([...begun.frames, ...resumed.frames], [first, ...frames]);
      assert.deepEqual(Object.keys(first as JsonObject), ["task"]);
      assert.ok(resumed.frames.length > 1);
    });

    test(`reads the details of an error over ${protocol}, and the challenge where it has no token`, async () => {
      const unknown = await page.call("errorOf", calling(protocol), "t-1");
      assert.deepEqual(unknown, { code: "NotFound", reason: "TASK_NOT_FOUND", metadata: { taskId: "t-1" }, challenge: null });
      const stranger = await page.call("errorOf", calling(protocol, { authorization: "Bearer none" }), "t-1");
      assert.deepEqual([stranger?.code, stranger?.reason], ["Unauthenticated", "UNAUTHENTICATED"]);
      if (protocol === "connect") assert.match(stranger?.challenge ?? "", /^Bearer /);
    });

    test(`of an origin that is not named gets nothing over ${protocol}`, async () => {
      await using other = await ClientPage.open(browser);
      const tasks = async (): Promise<unknown> => (await bed.grpc.unary("ListTasks", {}, { headers: HEADERS })).message["totalSize"];
      const known = await tasks();
      assert.notEqual(other.origin, page.origin);
      const told = await other.call("errorOf", calling(protocol), "t-1");
      assert.deepEqual([told?.code, told?.reason], ["Unknown", undefined]);
      await assert.rejects(other.call("send", calling(protocol), "complete", Infinity), /Failed to fetch/);
      assert.equal(await tasks(), known);
    });
  }

  test("reads the card and its ETag", async () => {
    const etag = await page.call("etag", `http://127.0.0.1:${bed.server.ports.http}/.well-known/agent-card.json`);
    assert.match(etag ?? "", /^"[\w-]+"$/);
  });
});
