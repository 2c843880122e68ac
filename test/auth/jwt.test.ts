/** Tokens of issuers: which are taken, and what is said of those that are not. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { generateSecret, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { TokenCache } from "../../src/rpc/auth/token-cache.ts";
import { errorOf, openBed, send } from "../bindings/bed.ts";
import { AUDIENCE, IdentityProvider } from "./identity-provider.ts";
import { bedOf, headersOf, Keeping, type KeepingBed, whoIs, whyRefused } from "./jwt-bed.ts";

suite("tokens of an issuer", { timeout: 60_000 }, () => {
  test("name their caller, what it may do, and what the agent is to know of it", async () => {
    await using idp = await IdentityProvider.open();
    await using bed = await bedOf(idp, { prefix: "corp:", claims: ["email", "realm.level", "absent"], scopesClaim: "realm.roles" });
    const reader = await whoIs(
      bed,
      await idp.token({ sub: "alice", scope: "not this", email: "a@b.c", realm: { roles: ["x", 1, "y"], level: 3 } }),
    );
    const { headers: _, trace, ...caller } = reader;
    assert.equal(trace, undefined);
    assert.deepEqual(caller, {
      principal: "corp:alice",
      tenant: "",
      owner: "corp:alice",
      scopes: ["x", "y"],
      claims: { email: "a@b.c", "realm.level": 3 },
    });
    for (const claims of [{ scope: "a b" }, { scp: ["a", "b"] }, { scp: "a b" }] as JWTPayload[])
      await during(bedOf(idp), async (plain) => assert.deepEqual((await whoIs(plain, await idp.token(claims))).scopes, ["a", "b"]));
  });

  test("reach the agent's turn with the scopes and claims of whoever sent the message", async () => {
    await using idp = await IdentityProvider.open();
    const agent = new Keeping();
    await using bed = await bedOf(idp, { claims: ["email"] }, agent);
    const gate = agent.gate();
    const token = await idp.token({ scope: "a b", email: "a@b.c" });
    const done = bed.grpc.unary("SendMessage", send(`slow ${gate.name}`), headersOf(token));
    const { principal, owner, scopes, claims } = await gate.reached;
    assert.deepEqual(
      { principal, owner, scopes, claims },
      { principal: "alice", owner: "alice", scopes: ["a", "b"], claims: { email: "a@b.c" } },
    );
    gate.open();
    await done;
  });

  test("R-243 are refused where anything of them is not as it should be, and it is said what", async () => {
    await using idp = await IdentityProvider.open();
    await using bed = await bedOf(idp, { type: "JWT" });
    const good = await idp.token();
    assert.equal((await whoIs(bed, good)).principal, "alice");
    const [header, payload] = good.split(".");
    const secret = await generateSecret("HS256");
    const hmac = await new SignJWT({ sub: "alice" })
      .setProtectedHeader({ alg: "HS256", kid: "k1", typ: "JWT" })
      .setIssuer(idp.issuer)
      .setAudience(AUDIENCE)
      .setExpirationTime("5m")
      .sign(secret);
    const none = new UnsecuredJWT({ sub: "alice" }).setIssuer(idp.issuer).setAudience(AUDIENCE).setExpirationTime("5m").encode();
    for (const [token, message] of [
      [await idp.token({ aud: undefined }), "the token is for another audience"],
      [await idp.token({ aud: ["a", "b"] }), "the token is for another audience"],
      [await idp.token({ exp: undefined }), "the token's exp is missing or wrong"],
      [await idp.token({ nbf: Math.floor(Date.now() / 1000) + 120 }), "the token is not good yet"],
      [await idp.token({ sub: undefined }), "the token names no caller in sub"],
      [await idp.token({ sub: "" }), "the token names no caller in sub"],
      [await idp.token({ sub: "anonymous" }), "what the token has in sub can be no caller here"],
      [await idp.token({ sub: "x".repeat(300) }), "what the token has in sub can be no caller here"],
      [await idp.token({}, { header: { typ: "at+jwt" } }), "the token's typ is missing or wrong"],
      [await idp.token({ iss: "https://other.test" }), "the bearer token is not known"],
      [await idp.token({ iss: undefined }), "the bearer token is not known"],
      [`${header}.${payload}.AAAA`, "the token's signature is not right"],
      [hmac, "the token is signed in a way that this server does not take"],
      [none, "the token is signed in a way that this server does not take"],
      ["not.a.token", "the bearer token is not known"],
      ["opaque", "the bearer token is not known"],
    ] as const)
      assert.equal(await whyRefused(bed, token), message);
    // Two tokens, and something that is none.
    for (const authorization of [`Bearer ${good}, Bearer ${good}`, "Bearer", "Bearer a b"]) {
      const { failure } = await errorOf(bed.rest.unary("ListTasks", {}, { headers: { authorization } }));
      assert.equal(failure.message, "what Authorization says is no bearer token");
    }
  });

  test("may be a little late or early: clocks differ", async () => {
    await using idp = await IdentityProvider.open();
    const soon = { nbf: Math.floor(Date.now() / 1000) + 10 };
    await during(bedOf(idp, { clockSkewSeconds: 60 }), async (bed) => {
      assert.equal((await whoIs(bed, await idp.token({}, { expiresIn: -10 }))).principal, "alice");
      assert.equal((await whoIs(bed, await idp.token(soon))).principal, "alice");
    });
    await during(bedOf(idp, { clockSkewSeconds: 0 }), async (bed) => {
      assert.equal(await whyRefused(bed, await idp.token({}, { expiresIn: -10 })), "the token has expired");
      assert.equal(await whyRefused(bed, await idp.token(soon)), "the token is not good yet");
    });
  });

  test("are taken in the algorithms that the operator names, and by default in all of public keys", async () => {
    await using idp = await IdentityProvider.open();
    for (const alg of ["RS256", "PS256", "ES384", "EdDSA"]) await idp.addKey(alg, alg);
    await using every = await bedOf(idp);
    await using few = await bedOf(idp, { algorithms: ["ES384"] });
    for (const kid of ["RS256", "PS256", "ES384", "EdDSA"]) {
      const token = await idp.token({}, { kid });
      assert.equal((await whoIs(every, token)).principal, "alice");
      if (kid === "ES384") assert.equal((await whoIs(few, token)).principal, "alice");
      else assert.equal(await whyRefused(few, token), "the token is signed in a way that this server does not take");
    }
  });

  test("are taken by a secret only where one is configured, and then by nothing else", async () => {
    await using idp = await IdentityProvider.open();
    const secret = "a secret that nobody would ever guess";
    await using bed = await bedOf(idp, { secret });
    const token = await new SignJWT({ sub: "alice" })
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(idp.issuer)
      .setAudience(AUDIENCE)
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode(secret));
    assert.equal((await whoIs(bed, token)).principal, "alice");
    assert.equal(await whyRefused(bed, await idp.token()), "the token is signed in a way that this server does not take");
    assert.deepEqual(idp.asked, []);
  });

  test("of several issuers are told apart by their prefixes", async () => {
    await using one = await IdentityProvider.open();
    await using other = await IdentityProvider.open();
    const jwt = [
      { issuer: one.issuer, audience: AUDIENCE, prefix: "one:" },
      { issuer: other.issuer, audience: "other", prefix: "other:", jwksUrl: other.jwksUrl },
    ];
    const agent = new Keeping();
    await using bed = (await openBed({ auth: { jwt }, tokens: { "static-token": "carol" } }, agent)) as KeepingBed;
    assert.equal((await whoIs(bed, await one.token())).principal, "one:alice");
    assert.equal((await whoIs(bed, await other.token({ aud: "other" }))).principal, "other:alice");
    assert.equal((await whoIs(bed, "static-token")).principal, "carol");
    // A key of one issuer makes no token of the other.
    assert.equal(await whyRefused(bed, await one.token({ iss: other.issuer, aud: "other" })), "the token's signature is not right");
  });
});

test("verified tokens are kept until they expire, and a bounded number of them", () => {
  const cache = new TokenCache(3);
  const far = Date.now() + 3_600_000;
  for (const name of ["a", "b", "c"]) cache.set(name, { name }, far);
  assert.deepEqual(cache.get("a"), { name: "a" });
  cache.set("d", { name: "d" }, far);
  // What was not used for longest has gone.
  assert.deepEqual(
    ["a", "b", "c", "d"].map((token) => cache.get(token)?.name),
    ["a", undefined, "c", "d"],
  );
  assert.equal(cache.size, 3);
  cache.set("late", { name: "late" }, Date.now() - 1);
  assert.equal(cache.get("late"), undefined);
});

test("a verified token is forgotten after five minutes, or when it expires", ({ mock }) => {
  mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  const cache = new TokenCache();
  cache.set("long", { name: "a" }, 1_000_000 + 3_600_000);
  cache.set("short", { name: "b" }, 1_000_000 + 1000);
  mock.timers.tick(1000);
  assert.deepEqual([cache.get("long")?.name, cache.get("short")?.name], ["a", undefined]);
  mock.timers.tick(5 * 60_000);
  assert.equal(cache.get("long"), undefined);
  assert.equal(cache.size, 0);
});

/** Uses what is opened for the length of a step. */
async function during<T extends AsyncDisposable>(open: Promise<T>, step: (opened: T) => Promise<void>): Promise<void> {
  await using opened = await open;
  await step(opened);
}
