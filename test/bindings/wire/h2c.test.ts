import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Bed, openBed, send, sharedBed, startTask } from "../bed.ts";
import type { HttpRequest } from "../callers/http.ts";
import { Http2Client, type Http2Reply, replyOf } from "../callers/http2.ts";

const MiB = 1024 * 1024;
const JSON_CALL = [
  ["a2a-version", "1.0"],
  ["content-type", "application/json"],
] as const;

const posted = (target: string, body: JsonObject): HttpRequest => ({
  method: "POST",
  target,
  headers: JSON_CALL,
  body: JSON.stringify(body),
});
const rpc = (method: string, params: JsonObject): HttpRequest => posted("/", { jsonrpc: "2.0", id: 1, method, params });

/** A client of the bed's HTTP port, closed in the end. */
async function withClient<T>({ server }: Bed, use: (client: Http2Client) => Promise<T>, options = {}): Promise<T> {
  const client = new Http2Client(server.ports.http, options);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** Reads a stream of events up to and with the first that holds `word`. */
async function readUpTo({ body }: Http2Reply, word: string): Promise<string> {
  let text = "";
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(word) && text.endsWith("\n\n")) break;
  }
  return text;
}

async function rest({ body }: Http2Reply): Promise<string> {
  let text = "";
  for await (const chunk of body) text += String(chunk);
  return text;
}

suite("HTTP/2 in clear text", () => {
  const bed = sharedBed({ keepaliveMs: 20, maxMessageBytes: MiB });
  const impatient = sharedBed({ stalledStreamMs: 300, stallFlushMs: 50 });

  test("lets callers on one connection leave by the hundred: it stays for the others", async () => {
    const session = connect(`http://127.0.0.1:${bed().server.ports.http}`);
    try {
      const gone: Promise<unknown>[] = [];
      for (let count = 0; count < 2000; count += 1) {
        const stream = session.request({ ":path": "/.well-known/agent-card.json" });
        stream.on("error", () => undefined);
        gone.push(once(stream, "close"));
        stream.close(constants.NGHTTP2_CANCEL);
        if (count % 500 === 499) await Promise.all(gone);
      }
      const last = session.request({ ":path": "/.well-known/agent-card.json" });
      const [headers] = (await once(last, "response")) as [{ ":status": number }];
      assert.equal(headers[":status"], 200);
      last.resume();
      await once(last, "close");
    } finally {
      session.destroy();
    }
  });

  test("serves the card, HTTP+JSON and JSON-RPC as HTTP/1.1 does", () =>
    withClient(bed(), async (client) => {
      const id = await startTask(bed().rest, "input");
      const calls: readonly HttpRequest[] = [
        { method: "GET", target: "/.well-known/agent-card.json" },
        { method: "HEAD", target: "/.well-known/agent-card.json" },
        { method: "DELETE", target: "/.well-known/agent-card.json" },
        { method: "GET", target: `/tasks/${id}`, headers: JSON_CALL },
        { method: "GET", target: `/tasks/${id}?A2A-Version=2.0` },
        { method: "GET", target: "/nothing" },
        { method: "GET", target: "/jsonrpc" },
        posted("/message:send", {}),
        rpc("GetTask", { id }),
        rpc("Nothing", {}),
        { ...rpc("GetTask", { id }), headers: [["content-type", "text/plain"]] },
      ];
      for (const call of calls) {
        const [two, one] = [await client.fetch(call), await bed().rest.http.fetch(call)];
        assert.deepEqual([two.status, two.text], [one.status, one.text], call.target);
        for (const [name, value] of one.headers) {
          if (!["date", "connection", "keep-alive"].includes(name)) assert.equal(two.headers.get(name), value, `${call.target}: ${name}`);
        }
        for (const hop of ["connection", "keep-alive", "transfer-encoding"]) assert.equal(two.headers.get(hop), undefined);
      }
    }));

  for (const [name, call] of [
    [
      "HTTP+JSON",
      (method: string, request: JsonObject) =>
        posted(method === "SubscribeToTask" ? `/tasks/${request["id"] as string}:subscribe` : "/message:stream", request),
    ],
    ["JSON-RPC", rpc],
  ] as const) {
    test(`streams events of ${name}, and keeps them alive`, () =>
      withClient(bed(), async (client) => {
        const gate = bed().agent.gate();
        const reply = await client.open(call("SendStreamingMessage", send(`slow ${gate.name}`)));
        const { status, headers } = reply;
        assert.deepEqual([status, headers.get("content-type"), headers.get("cache-control")], [200, "text/event-stream", "no-cache"]);
        assert.match(headers.get("a2a-task-id") ?? "", /^[0-9a-f-]{36}$/);
        assert.equal(headers.get("transfer-encoding"), undefined);
        const begun = await readUpTo(reply, ": keep-alive");
        gate.open();
        const text = begun + (await rest(reply));
        assert.match(text, /^(data: .*\n\n|: keep-alive\n\n)+$/);
        assert.equal(text.match(/^data: /gm)?.length, 3);
        assert.match(text, /TASK_STATE_COMPLETED/);
        assert.equal(reply.body.rstCode, constants.NGHTTP2_NO_ERROR);
      }));

    test(`refuses a stream of ${name} with a plain reply where it cannot begin`, () =>
      withClient(bed(), async (client) => {
        const { status, headers, text } = await client.fetch(call("SubscribeToTask", { id: "none" }));
        assert.deepEqual([status, headers.get("content-type")], [name === "JSON-RPC" ? 200 : 404, "application/json"]);
        assert.match(text, /TASK_NOT_FOUND/);
      }));
  }

  test("carries many streams on one connection, each with every event", () =>
    withClient(bed(), async (client) => {
      const gate = bed().agent.gate();
      const id = await startTask(bed().rest, `chunks ${gate.name}`);
      await gate.reached;
      const replies = await Promise.all(Array.from({ length: 300 }, () => client.open(rpc("SubscribeToTask", { id }))));
      const begun = await Promise.all(replies.map((reply) => readUpTo(reply, '"task"')));
      gate.open(3);
      const texts = await Promise.all(replies.map(rest));
      const events = texts.map((text, index) => `${begun[index]}${text}`.replaceAll(": keep-alive\n\n", ""));
      assert.equal(events[0]?.match(/^data: /gm)?.length, 5);
      for (const text of events) assert.equal(text, events[0]);
    }));

  test("has room for more than 64 kB on the way to the server on a stream, and for several such streams", () =>
    withClient(bed(), async (client) => {
      await once(client.session, "remoteSettings");
      const { initialWindowSize, maxConcurrentStreams } = client.session.remoteSettings;
      assert.deepEqual([initialWindowSize, maxConcurrentStreams], [MiB, 1000]);
      await client.fetch({ method: "GET", target: "/nothing" });
      assert.ok((client.session.state.remoteWindowSize ?? 0) >= 4 * MiB);
    }));

  test("brings a large reply whole, however small the reader's window", () =>
    withClient(
      bed(),
      async (client) => {
        const pad = "é".repeat(MiB / 4);
        const id = await startTask(bed().rest, "input", {
          message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "input" }], metadata: { pad } },
        });
        const { headers, text } = await client.fetch({ method: "GET", target: `/tasks/${id}`, headers: JSON_CALL });
        assert.equal(Number(headers.get("content-length")), Buffer.byteLength(text));
        assert.equal((JSON.parse(text) as { history: { metadata: unknown }[] }).history[0]?.metadata instanceof Object, true);
        assert.ok(text.includes(pad));
      },
      { initialWindowSize: 1000 },
    ));

  test("a body that is too long is refused at once, thrown away, and the connection serves the next call", () =>
    withClient(bed(), async (client) => {
      for (const target of ["/message:send", "/jsonrpc"]) {
        const stream = client.begin("POST", target, JSON_CALL);
        const reply = replyOf(stream);
        const junk = Buffer.alloc(64 * 1024, "x");
        let sent = 0;
        // For ever, if nobody stops it.
        const more = (): void => {
          while (!stream.destroyed && !stream.closed) {
            sent += junk.length;
            if (!stream.write(junk)) return void stream.once("drain", more);
          }
        };
        more();
        const { status, body } = await reply;
        assert.equal(status, 413);
        assert.match(await rest(await reply), /MESSAGE_TOO_LARGE/);
        if (!body.closed) await once(body, "close");
        assert.equal(body.rstCode, constants.NGHTTP2_NO_ERROR);
        assert.ok(sent > 2 * MiB, "what came after the refusal was taken");
      }
      assert.equal((await client.fetch({ method: "GET", target: "/.well-known/agent-card.json" })).status, 200);
    }));

  test("a caller that resets its stream ends neither the task nor its connection", () =>
    withClient(bed(), async (client) => {
      const gate = bed().agent.gate();
      const reply = await client.open(rpc("SendStreamingMessage", send(`slow ${gate.name}`)));
      const id = reply.headers.get("a2a-task-id") as string;
      const turn = await gate.reached;
      reply.body.close(constants.NGHTTP2_CANCEL);
      await once(reply.body, "close");
      const again = await client.open(rpc("SubscribeToTask", { id }));
      assert.equal(turn.signal.aborted, false);
      gate.open();
      assert.match(await rest(again), /TASK_STATE_COMPLETED/);
    }));

  test("a stream whose reader takes nothing is reset, its neighbours go on", () =>
    withClient(
      impatient(),
      async (client) => {
        const gate = impatient().agent.gate();
        const pad = "x".repeat(100_000);
        const sent = send(`slow ${gate.name}`);
        const stalled = await client.open(
          rpc("SendStreamingMessage", { ...sent, message: { ...(sent["message"] as JsonObject), metadata: { pad } } }),
        );
        const id = stalled.headers.get("a2a-task-id") as string;
        const neighbour = await client.open(rpc("SubscribeToTask", { id, historyLength: 0 }));
        const text = rest(neighbour);
        stalled.body.on("error", () => undefined).pause();
        await once(stalled.body, "close");
        assert.equal(stalled.body.rstCode, constants.NGHTTP2_CANCEL);
        gate.open();
        assert.match(await text, /TASK_STATE_COMPLETED/);
      },
      { initialWindowSize: 1000 },
    ));
});

test("a drain ends streams over HTTP/2 cleanly, then says GOAWAY and closes", async () => {
  await using bed = await openBed({ drainMs: 30_000 });
  await withClient(bed, async (client) => {
    const gate = bed.agent.gate();
    const reply = await client.open(rpc("SendStreamingMessage", send(`slow ${gate.name}`)));
    const waits = bed.agent.gate();
    const wait = client.fetch(posted("/message:send", send(`slow ${waits.name}`)));
    await Promise.all([gate.reached, waits.reached]);
    const goaway = once(client.session, "goaway");
    const closed = once(client.session, "close");
    const drained = bed.server.drain({ atOnce: true });
    assert.match(await rest(reply), /^(data: .*\n\n)+$/);
    assert.equal(reply.body.rstCode, constants.NGHTTP2_NO_ERROR);
    assert.equal((await goaway)[0], constants.NGHTTP2_NO_ERROR);
    // A call that was under way has its answer.
    gate.open();
    waits.open();
    assert.match((await wait).text, /TASK_STATE_COMPLETED/);
    await closed;
    await drained;
  });
});
