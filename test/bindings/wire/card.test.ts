import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { openBed, sharedBed } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

const CARD = "/.well-known/agent-card.json";

suite("the agent card", () => {
  const bed = sharedBed({ tokens: { t: "alice" } });
  const fetch = (more: Partial<HttpRequest> = {}): Promise<HttpReply> => bed().rest.http.fetch({ method: "GET", target: CARD, ...more });

  test("is served to everybody, whatever version they name", async () => {
    for (const version of [undefined, "", "0.3", "99.0", "1.0"]) {
      const reply = await fetch({ headers: version === undefined ? [] : [["a2a-version", version]] });
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.get("content-type"), "application/json");
    }
  });

  test("is a card that names all three interfaces, the preferred one first, and only what is served", async () => {
    const json = JSON.parse((await fetch()).text) as JsonObject;
    const card = fromJson(AgentCardSchema, json);
    const { grpc, http } = bed().server.ports;
    assert.deepEqual(
      card.supportedInterfaces.map(({ protocolBinding, url, protocolVersion }) => [protocolBinding, url, protocolVersion]),
      [
        ["GRPC", `127.0.0.1:${grpc}`, "1.0"],
        ["HTTP+JSON", `http://127.0.0.1:${http}`, "1.0"],
        ["JSONRPC", `http://127.0.0.1:${http}/jsonrpc`, "1.0"],
      ],
    );
    assert.equal(card.capabilities?.streaming, true);
    assert.equal(card.capabilities?.pushNotifications, false);
    assert.equal(card.capabilities?.extendedAgentCard, false);
    const extensions = new Map(card.capabilities?.extensions.map(({ uri, required }) => [uri, required]));
    assert.deepEqual(
      extensions,
      new Map([
        ["urn:throughline:a2a:idempotent-send:v1", false],
        ["urn:throughline:a2a:log:v1", false],
      ]),
    );
    assert.deepEqual(card.capabilities?.extensions.find(({ uri }) => uri.includes("idempotent"))?.params, {
      mode: "window",
      windowMs: 600_000,
    });
    // REQUIRED, though empty.
    assert.deepEqual(json["skills"], []);
    assert.ok(!("signatures" in json));
  });

  test("may be kept for a while and asked for again by its tag", async () => {
    const first = await fetch();
    assert.match(first.headers.get("cache-control") ?? "", /^public, max-age=[1-9]\d*$/);
    assert.ok(Number.isFinite(Date.parse(first.headers.get("last-modified") ?? "")));
    const etag = first.headers.get("etag") ?? "";
    assert.match(etag, /^"[^"]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await fetch({ headers: [["if-none-match", known]] });
      assert.deepEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag], known);
      assert.equal(again.headers.get("cache-control"), first.headers.get("cache-control"));
    }
    assert.equal((await fetch({ headers: [["if-none-match", '"other"']] })).status, 200);
  });

  test("is answered to HEAD without its body", async () => {
    const whole = await fetch();
    const head = await fetch({ method: "HEAD" });
    assert.deepEqual([head.status, head.text], [200, ""]);
    for (const name of ["etag", "content-length", "content-type"]) assert.equal(head.headers.get(name), whole.headers.get(name));
  });

  test("takes no other method", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const reply = await fetch({ method });
      assert.equal(reply.status, 405);
      assert.equal(reply.headers.get("allow"), "GET, HEAD");
      assert.match(reply.text, /METHOD_NOT_ALLOWED/);
    }
  });
});

test("the card names the URLs of the options, not the listening address", async () => {
  await using bed = await openBed({ publicGrpcUrl: "agents.example:443", publicHttpUrl: "https://agents.example/a/", restPrefix: "/v1" });
  const { text } = await bed.rest.http.fetch({ method: "GET", target: CARD });
  const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { url: string }[] };
  assert.deepEqual(
    supportedInterfaces.map(({ url }) => url),
    ["agents.example:443", "https://agents.example/a/v1", "https://agents.example/a/jsonrpc"],
  );
});

test("the card says what the agent's own says; one agent served twice has every extension once", async () => {
  const capabilities = { streaming: false, extensions: [{ uri: "urn:x", required: false }] };
  const agent = new ScenarioAgent({ card: { capabilities } });
  const texts: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    await using bed = await openBed({ publicGrpcUrl: "h:1", publicHttpUrl: "http://h" }, agent);
    texts.push((await bed.rest.http.fetch({ method: "GET", target: CARD })).text);
  }
  assert.equal(texts[1], texts[0]);
  const { capabilities: served } = JSON.parse(texts[0] as string) as {
    capabilities: { streaming: boolean; extensions: { uri: string }[] };
  };
  assert.equal(served.streaming, false);
  const uris = served.extensions.map(({ uri }) => uri);
  assert.deepEqual(
    uris.filter((uri) => uri !== "urn:throughline:a2a:log:v1"),
    ["urn:x", "urn:throughline:a2a:idempotent-send:v1"],
  );
});
