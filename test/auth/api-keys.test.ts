/** API keys in a header, the query and a cookie, and several ways to authenticate at once. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Bed, errorOf, openBed, send } from "../bindings/bed.ts";
import type { CallOptions } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { AUDIENCE, IdentityProvider } from "./identity-provider.ts";

const sha256 = (key: string): string => createHash("sha256").update(key).digest("hex");

const keys = [
  { sha256: sha256("key-of-alice"), name: "alice", scopes: ["read", "write"] },
  { sha256: sha256("old-key-of-alice").toUpperCase(), name: "alice", expires: "2999-01-01T00:00:00Z" },
  { sha256: sha256("lost-key-of-alice"), name: "alice", expires: "2020-01-01T00:00:00+01:00" },
  { sha256: sha256("key-of-bob"), name: "bob" },
];

async function tasksOf(
  bed: Bed,
  options: CallOptions,
  surface: "grpc" | "connect" | "grpcWeb" | "rest" | "jsonRpc" = "rest",
): Promise<unknown> {
  return (await bed[surface].unary("ListTasks", {}, options)).message["totalSize"];
}

async function whyRefused(bed: Bed, options: CallOptions): Promise<string> {
  const messages = new Set<string>();
  for (const caller of bed.callers) {
    const { failure } = await errorOf(caller.unary("ListTasks", {}, options));
    checkFailure(caller, failure, "UNAUTHENTICATED");
    messages.add(failure.message);
  }
  assert.equal(messages.size, 1);
  return [...messages][0] ?? "";
}

/** How a key is brought, as the configuration says. */
const PLACES = {
  header: (key: string): CallOptions => ({ headers: { "x-team-key": key } }),
  cookie: (key: string): CallOptions => ({ headers: { cookie: `theme=dark; x-team-key=${key}; x-team-keys=other` } }),
} as const;

suite("an API key", { timeout: 60_000 }, () => {
  for (const place of ["header", "cookie"] as const) {
    test(`R-350 R-357 in a ${place} says who calls, on every binding`, async () => {
      await using bed = await openBed({ auth: { apiKeys: { in: place, name: "x-team-key", keys } } });
      const brought = PLACES[place];
      for (const caller of bed.callers) {
        await caller.unary("SendMessage", send("complete"), brought("key-of-alice"));
        assert.equal((await caller.unary("ListTasks", {}, brought("key-of-bob"))).message["totalSize"], undefined);
        assert.ok((await caller.unary("ListTasks", {}, brought("old-key-of-alice"))).message["totalSize"]);
      }
      for (const key of ["unknown", "lost-key-of-alice", sha256("key-of-alice"), "Key-of-alice"])
        assert.equal(await whyRefused(bed, brought(key)), "the API key is not known");
      assert.equal(await whyRefused(bed, {}), `this server wants the ${place} x-team-key`);
    });
  }

  test("R-350 in the query says who calls; gRPC, which has none, takes it as metadata", async () => {
    await using bed = await openBed({ auth: { apiKeys: { in: "query", name: "team_key", keys } } });
    for (const surface of ["rest", "connect", "grpcWeb"] as const) {
      await bed[surface].unary("SendMessage", send("complete"), { query: "team_key=key-of-alice" });
      assert.ok(await tasksOf(bed, { query: "team_key=key-of-alice" }, surface));
    }
    assert.equal(await tasksOf(bed, { headers: { team_key: "key-of-alice" } }, "grpc"), 3);
    const reply = await bed.jsonRpc.http.fetch({
      method: "POST",
      target: "/jsonrpc?team_key=key-of-alice",
      headers: [
        ["a2a-version", "1.0"],
        ["content-type", "application/json"],
      ],
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} }),
    });
    assert.match(reply.text, /"totalSize":3/);
    const { failure } = await errorOf(bed.rest.unary("ListTasks", {}, { query: "team_key=key-of-alice&team_key=key-of-bob" }));
    assert.equal(failure.message, "the call brings several API keys");
  });

  test("in a cookie is not taken from a page of another site: browsers send cookies of their own accord", async () => {
    await using bed = await openBed({ auth: { apiKeys: { in: "cookie", name: "key", keys } } });
    const from = (site: string): CallOptions => ({ headers: { cookie: "key=key-of-alice", "sec-fetch-site": site } });
    for (const site of ["same-origin", "none"]) await bed.rest.unary("ListTasks", {}, from(site));
    for (const site of ["cross-site", "same-site"])
      assert.equal(await whyRefused(bed, from(site)), "a cookie is not taken from a page of another site");
  });
});

suite("several ways to authenticate", { timeout: 60_000 }, () => {
  test("R-134 R-244 R-348 R-349 R-350 R-351 R-355 are alternatives in the card, each with a challenge of its own on a line of its own", async () => {
    await using idp = await IdentityProvider.open();
    const jwt = { issuer: idp.issuer, audience: AUDIENCE };
    const auth = { jwt, apiKeys: { keys }, scopes: { "*": ["read"], SendMessage: ["read", "write"] } };
    await using bed = await openBed({ tokens: { t: "carol" }, auth });
    const reply = await bed.rest.http.open({ method: "GET", target: "/tasks", headers: [["a2a-version", "1.0"]] });
    reply.resume();
    assert.equal(reply.statusCode, 401);
    assert.deepEqual(
      reply.rawHeaders.filter((_, at) => at % 2 === 1 && reply.rawHeaders[at - 1]?.toLowerCase() === "www-authenticate"),
      ['Bearer realm="a2a"', 'ApiKey realm="a2a", in="header", name="x-api-key"'],
    );
    const card = JSON.parse((await bed.rest.http.fetch({ method: "GET", target: "/.well-known/agent-card.json" })).text) as JsonObject;
    assert.deepEqual(card["securitySchemes"], {
      bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } },
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: `${idp.issuer}/.well-known/openid-configuration` } },
      apiKey: { apiKeySecurityScheme: { location: "header", name: "x-api-key" } },
    });
    // Each alone is enough; what OpenID is to grant for every operation is listed.
    assert.deepEqual(card["securityRequirements"], [
      { schemes: { bearer: {} } },
      { schemes: { oidc: { list: ["read"] } } },
      { schemes: { apiKey: {} } },
    ]);
    const openapi = JSON.parse((await bed.rest.http.fetch({ method: "GET", target: "/openapi.json" })).text) as JsonObject;
    assert.deepEqual(openapi["security"], [{ bearer: [] }, { oidc: ["read"] }, { apiKey: [] }]);
  });

  test("R-352 R-354 the card says of an issuer's tokens what the operator says of them", async () => {
    await using idp = await IdentityProvider.open();
    const flow = { clientCredentials: { tokenUrl: "https://login.example/token", scopes: { read: "to read" } } };
    const scheme = { oauth2SecurityScheme: { flows: flow } };
    await using bed = await openBed({ auth: { jwt: { issuer: idp.issuer, audience: AUDIENCE, scheme } } });
    const card = JSON.parse((await bed.rest.http.fetch({ method: "GET", target: "/.well-known/agent-card.json" })).text) as JsonObject;
    assert.deepEqual(card["securitySchemes"], { oauth: scheme });
  });

  test("R-243 on one call must all be good, and stand for one caller, who has the scopes of each", async () => {
    await using idp = await IdentityProvider.open();
    const auth = {
      jwt: { issuer: idp.issuer, audience: AUDIENCE },
      apiKeys: { keys },
      scopes: { "*": ["read", "audit"] },
    };
    await using bed = await openBed({ auth });
    const both = (token: string, key: string): CallOptions => ({ headers: { authorization: `Bearer ${token}`, "x-api-key": key } });
    const alice = await idp.token({ scope: "audit" });
    assert.equal(await tasksOf(bed, both(alice, "key-of-alice")), undefined);
    assert.equal(await whyRefused(bed, both(alice, "key-of-bob")), "the credentials of this call stand for different callers");
    assert.equal(await whyRefused(bed, both(alice, "unknown")), "the API key is not known");
    assert.equal(await whyRefused(bed, both(await idp.token({}, { expiresIn: -120 }), "key-of-alice")), "the token has expired");
    // Credentials for somebody else on the way are nothing to us.
    const { failure } = await errorOf(
      bed.rest.unary("ListTasks", {}, { headers: { authorization: "Basic YTpi", "x-api-key": "key-of-alice" } }),
    );
    assert.deepEqual(checkFailure(bed.rest, failure, "PERMISSION_DENIED").metadata, { operation: "ListTasks", missingScopes: "audit" });
  });
});
