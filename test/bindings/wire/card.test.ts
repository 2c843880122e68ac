import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit } from "../../../src/core/agent.ts";
import { openBed, sharedBed } from "../bed.ts";
import type { HttpReply, HttpRequest } from "../callers/http.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

const CARD = "/.well-known/agent-card.json";

/** Something in every part of a card, REQUIRED members at their defaults among it. */
const FULL_CARD: Partial<AgentCardInit> = {
  provider: { url: "https://example.com", organization: "Example" },
  documentationUrl: "https://example.com/docs",
  iconUrl: "https://example.com/icon.png",
  capabilities: { extensions: [{ uri: "urn:x", params: { a: 1 } }] },
  securitySchemes: {
    key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "" } } },
    basic: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "basic" } } },
    oauth: {
      scheme: { case: "oauth2SecurityScheme", value: { flows: { flow: { case: "clientCredentials", value: { tokenUrl: "https://t" } } } } },
    },
    oidc: { scheme: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: "https://o" } } },
    mtls: { scheme: { case: "mtlsSecurityScheme", value: {} } },
  },
  securityRequirements: [{ schemes: { key: { list: [] } } }],
  skills: [{ id: "one", name: "One", description: "", tags: [], examples: ["go"] }],
};

interface MessageFacts {
  readonly name: string;
  readonly fields: readonly {
    readonly jsonName: string;
    readonly required: boolean;
    readonly kind: string;
    readonly type: string;
    readonly label: string;
    readonly map?: { readonly value: string };
  }[];
}

const facts = JSON.parse(readFileSync(new URL("../../vectors/schema.json", import.meta.url), "utf8")) as {
  readonly messages: readonly MessageFacts[];
};

/** What the facts of the schema say against a message's JSON: members that lack, and members that are not in it. */
function faultsOf(type: string, json: JsonValue, path: string): string[] {
  const message = facts.messages.find(({ name }) => name === type);
  if (message === undefined) return [];
  const object = json as JsonObject;
  const known = new Map(message.fields.map((field) => [field.jsonName, field]));
  const lacking = message.fields.filter(({ required, jsonName }) => required && !(jsonName in object));
  return [
    ...lacking.map(({ jsonName }) => `${path}.${jsonName} lacks`),
    ...Object.entries(object).flatMap(([name, value]) => {
      const field = known.get(name);
      if (field === undefined) return [`${path}.${name} is unknown`];
      const inner = field.map?.value ?? field.type;
      const values = field.label === "repeated" || field.label === "map" ? Object.values(value as JsonObject) : [value];
      return values.flatMap((one) => faultsOf(inner, one, `${path}.${name}`));
    }),
  ];
}

suite("the agent card", () => {
  const bed = sharedBed({ tokens: { t: "alice" } });
  const fetch = (more: Partial<HttpRequest> = {}): Promise<HttpReply> => bed().rest.http.fetch({ method: "GET", target: CARD, ...more });

  test("R-308 R-309 is served to everybody, whatever version they name", async () => {
    for (const version of [undefined, "", "0.3", "99.0", "1.0"]) {
      const reply = await fetch({ headers: version === undefined ? [] : [["a2a-version", version]] });
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.get("content-type"), "application/json");
    }
  });

  test("stands below the URLs of JSON-RPC too, for callers that were given one of those", async () => {
    const { text } = await fetch();
    for (const base of ["/jsonrpc", "/a2a/jsonrpc"]) {
      const reply = await fetch({ target: `${base}${CARD}` });
      assert.deepEqual([reply.status, reply.text], [200, text], base);
    }
    assert.equal((await fetch({ target: `/elsewhere${CARD}` })).status, 404);
  });

  test("R-003 R-192 R-203 R-212 R-218 R-223 R-286 R-314 R-315 R-316 R-319 C-17 C-48 C-66 is a card that names all three interfaces, the preferred one first, and only what is served", async () => {
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

  test("R-326 R-327 may be kept for a while, and says by what to ask for it again", async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    await using fresh = await openBed();
    const { headers } = await fresh.rest.http.fetch({ method: "GET", target: CARD });
    assert.match(headers.get("cache-control") ?? "", /^public, max-age=[1-9]\d*$/);
    assert.match(headers.get("etag") ?? "", /^"[^"]+"$/);
    const modifiedAt = Date.parse(headers.get("last-modified") ?? "");
    assert.ok(
      before <= modifiedAt && modifiedAt <= Date.parse(headers.get("date") ?? ""),
      "neither older than the server nor from the future",
    );
  });

  test("R-329 is not sent again to callers who name its tag", async () => {
    const first = await fetch();
    const etag = first.headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, `"with,comma",W/${etag} , "z"`, "*", " * "]) {
      for (const method of ["GET", "HEAD"]) {
        const again = await fetch({ method, headers: [["if-none-match", known]] });
        assert.deepEqual([again.status, again.text], [304, ""], known);
        for (const name of ["etag", "cache-control"]) assert.equal(again.headers.get(name), first.headers.get(name), name);
        assert.ok(again.headers.has("date"));
        // Of the representation itself a 304 says nothing.
        for (const name of ["content-type", "content-length", "last-modified"]) assert.ok(!again.headers.has(name), name);
      }
    }
    for (const other of ['"other"', etag.slice(1, -1), "", '"*"', `"x${etag.slice(1)}`]) {
      const again = await fetch({ headers: [["if-none-match", other]] });
      assert.deepEqual([again.status, again.text], [200, first.text], other);
    }
    const lists = await fetch({
      headers: [
        ["if-none-match", '"one"'],
        ["if-none-match", etag],
      ],
    });
    assert.equal(lists.status, 304);
  });

  test("R-329 is not sent again to callers who name its date, in any form that HTTP dates have", async () => {
    const first = await fetch();
    const modified = first.headers.get("last-modified") ?? "";
    const at = new Date(Date.parse(modified));
    const part = (options: Intl.DateTimeFormatOptions): string => at.toLocaleString("en-US", { timeZone: "UTC", ...options });
    const clock = at.toISOString().slice(11, 19);
    const [day, month, year] = [part({ day: "2-digit" }), part({ month: "short" }), at.getUTCFullYear()];
    const rfc850 = `${part({ weekday: "long" })}, ${day}-${month}-${String(year).slice(2)} ${clock} GMT`;
    const asctime = `${part({ weekday: "short" })} ${month} ${day.replace(/^0/, " ")} ${clock} ${year}`;
    const later = new Date(at.getTime() + 3_600_000).toUTCString();
    for (const known of [modified, rfc850, asctime, later]) {
      const again = await fetch({ headers: [["if-modified-since", known]] });
      assert.deepEqual([again.status, again.text, again.headers.get("etag")], [304, "", first.headers.get("etag")], known);
      assert.equal((await fetch({ method: "HEAD", headers: [["if-modified-since", known]] })).status, 304);
    }
    const earlier = new Date(at.getTime() - 1000).toUTCString();
    // What is no HTTP date counts as not sent, even where it reads as one.
    for (const other of [earlier, "", "tomorrow", new Date(at.getTime() + 3_600_000).toISOString(), `${later}, ${later}`, "2100"]) {
      assert.equal((await fetch({ headers: [["if-modified-since", other]] })).status, 200, other);
    }
  });

  test("R-329 is judged by its tag alone where callers name both", async () => {
    const { headers } = await fetch();
    const both = (tag: string, date: string): Promise<HttpReply> =>
      fetch({
        headers: [
          ["if-none-match", tag],
          ["if-modified-since", date],
        ],
      });
    assert.equal((await both('"other"', headers.get("last-modified") ?? "")).status, 200);
    assert.equal((await both(headers.get("etag") ?? "", new Date(0).toUTCString())).status, 304);
  });

  test("is answered to HEAD without its body", async () => {
    const whole = await fetch();
    const head = await fetch({ method: "HEAD" });
    assert.deepEqual([head.status, head.text], [200, ""]);
    for (const name of ["etag", "content-length", "content-type", "last-modified", "cache-control"])
      assert.equal(head.headers.get(name), whole.headers.get(name), name);
  });

  test("R-310 R-311 R-313 R-388 C-44 has the members that the schema requires, at every depth, and none that it does not know", async () => {
    const agent = new ScenarioAgent({ card: FULL_CARD });
    await using full = await openBed({}, agent);
    for (const text of [(await fetch()).text, (await full.rest.http.fetch({ method: "GET", target: CARD })).text]) {
      assert.deepEqual(faultsOf("AgentCard", JSON.parse(text) as JsonValue, "card"), []);
    }
  });

  test("R-134 R-348 R-349 names the tokens that a server asks for, whatever the agent's own card says", async () => {
    const tokens = { secret: "alice" };
    for (const card of [{}, FULL_CARD]) {
      await using own = await openBed({ tokens }, new ScenarioAgent({ card }));
      const { text } = await own.rest.http.fetch({ method: "GET", target: CARD });
      const { securitySchemes, securityRequirements } = JSON.parse(text) as JsonObject;
      const scheme = { httpAuthSecurityScheme: { scheme: "Bearer" } };
      assert.deepEqual([securitySchemes, securityRequirements], [{ bearer: scheme }, [{ schemes: { bearer: {} } }]]);
    }
  });

  test("R-134 leaves it to the agent's card how callers authenticate where a function of the server's judges that", async () => {
    const authenticate = (): { name: string } => ({ name: "alice" });
    await using own = await openBed({ authenticate }, new ScenarioAgent({ card: FULL_CARD }));
    const { securityRequirements } = JSON.parse((await own.rest.http.fetch({ method: "GET", target: CARD })).text) as JsonObject;
    assert.deepEqual(securityRequirements, [{ schemes: { key: {} } }]);
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

test("a card of any size is answered to HEAD without its body", async () => {
  await using bed = await openBed({}, new ScenarioAgent({ card: { description: "x".repeat(400_000) } }));
  const head = await bed.rest.http.fetch({ method: "HEAD", target: CARD });
  assert.deepEqual([head.status, head.text], [200, ""]);
  assert.ok(Number(head.headers.get("content-length")) > 400_000);
  assert.equal((await bed.rest.http.fetch({ method: "GET", target: CARD })).text.length, Number(head.headers.get("content-length")));
});

test("R-317 R-321 the card names the URLs of the options, not the listening address", async () => {
  await using bed = await openBed({ publicGrpcUrl: "agents.example:443", publicHttpUrl: "https://agents.example/a/", restPrefix: "/v1" });
  const { text } = await bed.rest.http.fetch({ method: "GET", target: CARD });
  const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { url: string }[] };
  assert.deepEqual(
    supportedInterfaces.map(({ url }) => url),
    ["agents.example:443", "https://agents.example/a/v1", "https://agents.example/a/jsonrpc"],
  );
});

test("R-212 the card says what the agent's own says; one agent served twice has every extension once", async () => {
  const capabilities = { streaming: false, extensions: [{ uri: "urn:x", required: false }] };
  const agent = new ScenarioAgent({ card: { capabilities } });
  const texts: string[] = [];
  const etags: (string | undefined)[] = [];
  for (let round = 0; round < 2; round += 1) {
    await using bed = await openBed({ publicGrpcUrl: "h:1", publicHttpUrl: "http://h" }, agent);
    const { text, headers } = await bed.rest.http.fetch({ method: "GET", target: CARD });
    texts.push(text);
    etags.push(headers.get("etag"));
  }
  assert.equal(texts[1], texts[0]);
  assert.ok(etags[0] !== undefined && etags[1] === etags[0], "replicas that publish the same agree on its tag");
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
