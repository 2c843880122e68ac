/** The receiver of webhooks: what it takes, what it refuses, and what it makes of what it has taken (requirements 5.5). */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Inbox, MemoryInbox } from "../../src/client/webhook-receiver/inbox.ts";
import { webhookReceiver } from "../../src/client/webhook-receiver/webhook-receiver.ts";
import { DONE, openReceiver, SECRET, seconds, taken, WORKING } from "./webhook-bed.ts";

suite("what a receiver of webhooks takes", () => {
  test("a notification with its token and credentials, by either spelling and whatever the case of the scheme", async () => {
    await using bed = await openReceiver();
    const { token, authentication } = bed.webhook;
    const ways = [
      {},
      { "content-type": "application/json; charset=utf-8" },
      { "x-a2a-notification-token": undefined, "a2a-notification-token": token },
      { authorization: `bearer ${authentication?.credentials}` },
      { "webhook-timestamp": seconds(-200) },
      { "webhook-timestamp": seconds(200) },
    ];
    for (const [at, headers] of ways.entries()) {
      const response = await bed.post(WORKING, { "webhook-id": `e-${at}`, ...headers });
      assert.equal(response.status, 204, await response.text());
    }
    const got = await taken(bed.receiver, ways.length);
    assert.deepEqual(
      got.map(({ id, taskId, contextId, webhookId, state }) => [id, taskId, contextId, webhookId, state]),
      ways.map((_, at) => [`e-${at}`, "t-1", "c-1", bed.webhook.id, TaskState.WORKING]),
    );
  });

  test("the token alone, where it is made to ask for no more", async () => {
    await using bed = await openReceiver({ authentication: false });
    assert.equal(bed.webhook.authentication, undefined);
    assert.equal((await bed.post(WORKING)).status, 204);
  });

  test("each member that a StreamResponse may have; a message need name no task", async () => {
    await using bed = await openReceiver();
    const bodies = [
      { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_SUBMITTED" } } },
      WORKING,
      { artifactUpdate: { taskId: "t-1", contextId: "c-1", artifact: { artifactId: "a", parts: [{ text: "x" }] }, unknown: 1 } },
      { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] } },
      DONE,
    ];
    for (const body of bodies) assert.equal((await bed.post(body)).status, 204);
    const got = await taken(bed.receiver, bodies.length);
    assert.deepEqual(
      got.map(({ event, taskId }) => [event.payload.case, taskId]),
      [
        ["task", "t-1"],
        ["statusUpdate", "t-1"],
        ["artifactUpdate", "t-1"],
        ["message", ""],
        ["statusUpdate", "t-1"],
      ],
    );
  });

  test("through Request and Response", async () => {
    await using bed = await openReceiver();
    const { receiver, webhook, good } = bed;
    const post = (more: RequestInit): Promise<Response> =>
      receiver.fetch(new Request(webhook.url, { method: "POST", headers: good, body: JSON.stringify(WORKING), ...more }));
    assert.equal((await post({})).status, 204);
    assert.equal((await post({ headers: {} })).status, 401);
    assert.equal((await receiver.fetch(new Request(webhook.url))).status, 405);
    assert.deepEqual(
      (await taken(receiver, 1)).map(({ taskId }) => taskId),
      ["t-1"],
    );
  });
});

suite("what a receiver of webhooks refuses, and keeps nothing of", () => {
  const big = JSON.stringify({ message: { messageId: "m", parts: [{ text: "x".repeat(5000) }] } });
  const cases: [what: string, status: number, body: unknown, headers: Record<string, string | undefined>][] = [
    ["no token", 401, WORKING, { "x-a2a-notification-token": undefined }],
    ["an empty token", 401, WORKING, { "x-a2a-notification-token": "" }],
    ["another token", 401, WORKING, { "x-a2a-notification-token": "x".repeat(43) }],
    ["no credentials", 401, WORKING, { authorization: undefined }],
    ["other credentials", 401, WORKING, { authorization: `Bearer ${"x".repeat(43)}` }],
    ["another scheme", 401, WORKING, { authorization: `Basic ${"x".repeat(43)}` }],
    ["an old timestamp", 400, WORKING, { "webhook-timestamp": seconds(-400) }],
    ["a timestamp of the future", 400, WORKING, { "webhook-timestamp": seconds(400) }],
    ["a timestamp that is none", 400, WORKING, { "webhook-timestamp": "yesterday" }],
    ["another content type", 415, WORKING, { "content-type": "text/plain" }],
    ["a compressed body", 415, WORKING, { "content-encoding": "gzip" }],
    ["no JSON", 400, "{", {}],
    ["no object", 400, "[]", {}],
    ["no member", 400, {}, {}],
    ["only an unknown member", 400, { result: WORKING }, {}],
    ["two members", 400, { ...WORKING, task: { id: "t-1" } }, {}],
    ["a JSON-RPC envelope", 400, { jsonrpc: "2.0", result: WORKING }, {}],
    ["a body that is too large", 413, big, {}],
  ];
  for (const [what, status, body, headers] of cases) {
    test(`${what}: ${status}`, async () => {
      const inbox = new MemoryInbox();
      await using bed = await openReceiver({ inbox, maxBytes: 1000 });
      assert.equal((await bed.post(body, headers)).status, status);
      assert.deepEqual(await inbox.pending(), []);
      assert.equal((await bed.post(WORKING)).status, 204, "the next good one is taken");
    });
  }

  test("a body that is too large and does not say so", async () => {
    const inbox = new MemoryInbox();
    await using bed = await openReceiver({ inbox, maxBytes: 1000 });
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(500)) });
    const outcome = await bed.post(endless).then(
      ({ status }) => status,
      () => "cut off",
    );
    assert.ok(outcome === 413 || outcome === "cut off", String(outcome));
    assert.deepEqual(await inbox.pending(), []);
  });

  test("a webhook that it has not made, another method, another path", async () => {
    await using bed = await openReceiver();
    const other = bed.webhook.url.replace(/[^/]+$/, crypto.randomUUID());
    const post = async (url: string, method = "POST"): Promise<number> =>
      (await fetch(url, { method, headers: bed.good, ...(method === "POST" && { body: JSON.stringify(WORKING) }) })).status;
    assert.equal(await post(other), 401);
    assert.equal(await post(`${bed.webhook.url}/..%2f`), 404);
    assert.equal(await post(bed.webhook.url.replace(/\/[^/]+$/, "/")), 404);
    assert.equal(await post(bed.webhook.url, "GET"), 405);
  });

  test("R-125 another task than the first one with its token, and one that nobody waits for", async () => {
    const inbox = new MemoryInbox();
    await using bed = await openReceiver({ inbox, expected: ({ taskId }) => taskId.startsWith("t-") });
    assert.equal((await bed.post(WORKING)).status, 204);
    const other = { statusUpdate: { ...WORKING.statusUpdate, taskId: "t-2" } };
    assert.equal((await bed.post(other)).status, 403);
    await using second = await openReceiver({ inbox, expected: ({ taskId }) => taskId.startsWith("x-") });
    assert.equal((await second.post(WORKING)).status, 403);
    assert.equal((await inbox.pending()).length, 1);
  });

  test("more requests at once than it may have open: later", async () => {
    const gate = Promise.withResolvers<boolean>();
    const inside = Promise.withResolvers<void>();
    await using bed = await openReceiver({
      atOnce: 1,
      expected: () => {
        inside.resolve();
        return gate.promise;
      },
    });
    const first = bed.post(WORKING);
    await inside.promise;
    const second = await bed.post(DONE);
    assert.deepEqual([second.status, second.headers.get("retry-after")], [429, "1"]);
    gate.resolve(true);
    assert.equal((await first).status, 204);
  });

  test("a secret that is too short, a URL that is none", () => {
    assert.throws(() => webhookReceiver({ url: "https://caller.example/hooks", secret: "short" }), /^TypeError: secret/);
    for (const url of ["/hooks", "ftp://caller.example", "https://caller.example/?a=b"]) {
      assert.throws(() => webhookReceiver({ url, secret: SECRET }), /^TypeError: url/);
    }
  });
});

suite("what a receiver makes of what it has taken", () => {
  test("R-124 repeats are dropped: by their id, by the digest of their body where there is none", async () => {
    const inbox = new MemoryInbox();
    await using bed = await openReceiver({ inbox });
    for (const headers of [{ "webhook-id": "e-1" }, { "webhook-id": "e-1" }, { "webhook-id": "e-2" }, {}, {}]) {
      assert.equal((await bed.post(WORKING, headers)).status, 204);
    }
    assert.equal((await bed.post(DONE)).status, 204);
    const got = await taken(bed.receiver, 4);
    assert.deepEqual(
      got.map(({ id }) => id.replace(/^(sha256:).*/, "$1")),
      ["e-1", "e-2", "sha256:", "sha256:"],
    );
  });

  test("one that cannot be stored is not acknowledged, and is taken when it comes again", async () => {
    let fails = 1;
    const memory = new MemoryInbox();
    const inbox: Inbox = {
      put: (notification) => (fails-- > 0 ? Promise.reject(new Error("the disk is full")) : memory.put(notification)),
      pending: () => memory.pending(),
      done: (notification) => memory.done(notification),
      bind: (webhookId, taskId) => memory.bind(webhookId, taskId),
    };
    await using bed = await openReceiver({ inbox });
    const first = await bed.post(WORKING);
    assert.equal(first.status, 503);
    assert.doesNotMatch(await first.text(), /disk/);
    assert.equal((await bed.post(WORKING)).status, 204);
    assert.equal((await taken(bed.receiver, 1)).length, 1);
  });

  test("with receive each is handed on in order, and again where that throws", async () => {
    const got: string[] = [];
    const ended = Promise.withResolvers<void>();
    const failures: unknown[] = [];
    await using bed = await openReceiver({
      retryMs: 1,
      failed: (error) => failures.push(error),
      receive: ({ id, state }) => {
        got.push(id);
        if (id === "b" && got.length === 2) throw new Error("not now");
        if (state === TaskState.COMPLETED) ended.resolve();
      },
    });
    for (const id of ["a", "b"]) await bed.post(WORKING, { "webhook-id": id });
    await bed.post(DONE, { "webhook-id": "c" });
    await ended.promise;
    assert.deepEqual(got, ["a", "b", "b", "c"]);
    assert.deepEqual(failures, [new Error("not now")]);
  });

  test("it is iterated once, and not beside receive", async () => {
    await using bed = await openReceiver();
    const [iterator] = [bed.receiver[Symbol.asyncIterator]()];
    assert.throws(() => bed.receiver[Symbol.asyncIterator](), TypeError);
    const next = iterator.next();
    await bed.receiver.close();
    assert.deepEqual(await next, { value: undefined, done: true });
    await using other = await openReceiver({ receive: () => undefined });
    assert.throws(() => other.receiver[Symbol.asyncIterator](), TypeError);
  });

  test("webhooks of one process are known to another one with the same secret, and to none with another", async () => {
    await using one = await openReceiver();
    const twin = webhookReceiver({ url: "https://caller.example/hooks", secret: SECRET });
    const stranger = webhookReceiver({ url: "https://caller.example/hooks", secret: `${SECRET}!` });
    const request = (): Request => new Request(one.webhook.url, { method: "POST", headers: one.good, body: JSON.stringify(WORKING) });
    assert.equal((await twin.fetch(request())).status, 204);
    assert.equal((await stranger.fetch(request())).status, 401);
  });
});
