/** Tokens of issuers: which are taken, how their keys are found, and what happens while an issuer is away. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { generateSecret, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import type { CardReader } from "../../src/core/agent.ts";
import { IssuerKeys } from "../../src/rpc/auth/issuer-keys.ts";
import { type JwtIssuer, Jwts } from "../../src/rpc/auth/jwt.ts";
import { TokenCache } from "../../src/rpc/auth/token-cache.ts";
import type { ServerOptionsInput } from "../../src/server/options.ts";
import { type Bed, errorOf, openBed, send } from "../bindings/bed.ts";
import type { CallFailed } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { AUDIENCE, IdentityProvider } from "./identity-provider.ts";

type JwtInput = NonNullable<NonNullable<ServerOptionsInput["auth"]>["jwt"]>;

/** Keeps who asked for the extended card. */
class Keeping extends ScenarioAgent {
  readonly readers: CardReader[] = [];

  override async extendedCard(reader: CardReader): Promise<ScenarioAgent["card"]> {
    this.readers.push(reader);
    return this.card;
  }
}

/** A server that takes tokens of the issuer. */
async function bedOf(idp: IdentityProvider, more: object = {}, agent = new Keeping()): Promise<Bed & { readonly agent: Keeping }> {
  const jwt = { issuer: idp.issuer, audience: AUDIENCE, ...more } as JwtInput;
  return (await openBed({ auth: { jwt } }, agent)) as Bed & { readonly agent: Keeping };
}

const headersOf = (token: string): { headers: { authorization: string } } => ({ headers: { authorization: `Bearer ${token}` } });

/** Who a token stands for to the server; rejects where for nobody. */
async function whoIs(bed: Bed & { readonly agent: Keeping }, token: string): Promise<CardReader> {
  await bed.rest.unary("GetExtendedAgentCard", {}, headersOf(token));
  return bed.agent.readers.pop() ?? assert.fail("nobody asked");
}

async function refusal(bed: Bed, token: string): Promise<CallFailed> {
  return errorOf(bed.rest.unary("ListTasks", {}, headersOf(token)));
}

async function whyRefused(bed: Bed, token: string): Promise<string> {
  const { failure } = await refusal(bed, token);
  checkFailure(bed.rest, failure, "UNAUTHENTICATED");
  return failure.message;
}

suite("tokens of an issuer", { timeout: 60_000 }, () => {
  test("name their caller, what it may do, and what the agent is to know of it", async () => {
    await using idp = await IdentityProvider.open();
    await using bed = await bedOf(idp, { prefix: "corp:", claims: ["email", "realm.level", "absent"], scopesClaim: "realm.roles" });
    const reader = await whoIs(
      bed,
      await idp.token({ sub: "alice", scope: "not this", email: "a@b.c", realm: { roles: ["x", 1, "y"], level: 3 } }),
    );
    const { headers: _, ...caller } = reader;
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
    await using bed = (await openBed({ auth: { jwt }, tokens: { "static-token": "carol" } }, agent)) as Bed & { agent: Keeping };
    assert.equal((await whoIs(bed, await one.token())).principal, "one:alice");
    assert.equal((await whoIs(bed, await other.token({ aud: "other" }))).principal, "other:alice");
    assert.equal((await whoIs(bed, "static-token")).principal, "carol");
    // A key of one issuer makes no token of the other.
    assert.equal(await whyRefused(bed, await one.token({ iss: other.issuer, aud: "other" })), "the token's signature is not right");
  });
});

suite("the keys of an issuer", { timeout: 60_000 }, () => {
  test("are fetched once for many tokens, before the first of them comes", async () => {
    await using idp = await IdentityProvider.open();
    await using bed = await bedOf(idp);
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, at) => idp.token({ sub: `caller ${at}` })));
    const callers = bed.callers.flatMap((caller) => tokens.map((token) => caller.unary("ListTasks", {}, headersOf(token))));
    await Promise.all(callers);
    assert.deepEqual(idp.asked, ["/.well-known/openid-configuration", "/keys"]);
  });

  test("R-372 rotate: a key that is new is found, one that was withdrawn is not missed until then", async () => {
    await using idp = await IdentityProvider.open();
    const keys = new IssuerKeys({ issuer: idp.issuer, coolDownMs: 0 });
    const jwts = new Jwts([issuerOf(idp, keys)]);
    const before = await idp.token();
    assert.deepEqual(await nameOf(jwts, before), "alice");
    await idp.addKey("k2", "RS256");
    assert.deepEqual(await nameOf(jwts, await idp.token()), "alice");
    assert.equal(idp.fetches, 2);
    // The set that was fetched for the new key has no longer the old one.
    idp.published.delete("k1");
    await idp.addKey("k3", "ES256");
    assert.deepEqual(await nameOf(jwts, await idp.token()), "alice");
    assert.deepEqual(await jwts.read(await idp.token({ sub: "bob" }, { kid: "k1" })), {
      refused: "the token is signed with a key that its issuer does not have",
    });
    // One that was verified is good for some minutes.
    assert.deepEqual(await nameOf(jwts, before), "alice");
  });

  test("that nobody has do not have them fetched over and over", async () => {
    await using idp = await IdentityProvider.open();
    await using bed = await bedOf(idp);
    assert.equal((await whoIs(bed, await idp.token())).principal, "alice");
    for (let at = 0; at < 20; at += 1) {
      await idp.addKey(`unknown ${at}`, "ES256", { publish: false });
      assert.equal(await whyRefused(bed, await idp.token()), "the token is signed with a key that its issuer does not have");
    }
    assert.equal(idp.fetches, 1);
  });

  test("without names are tried one after the other", async () => {
    await using idp = await IdentityProvider.open();
    await idp.addKey("x", "ES256", { named: false });
    await idp.addKey("y", "ES256", { named: false });
    await using bed = await bedOf(idp);
    for (const kid of ["k1", "x", "y"]) {
      assert.equal((await whoIs(bed, await idp.token({}, { kid, header: { kid: undefined } }))).principal, "alice");
    }
    await idp.addKey("z", "ES256", { publish: false });
    assert.equal(await whyRefused(bed, await idp.token({}, { header: { kid: undefined } })), "the token's signature is not right");
  });

  test("may stand in the options, and then nobody is asked for them", async () => {
    await using idp = await IdentityProvider.open();
    const jwks = (await (await fetch(idp.jwksUrl)).json()) as object;
    idp.asked.length = 0;
    await using bed = await bedOf(idp, { jwks });
    assert.equal((await whoIs(bed, await idp.token())).principal, "alice");
    assert.deepEqual(idp.asked, []);
  });

  test("R-252 that cannot be had are a reason to come back later", async () => {
    await using idp = await IdentityProvider.open();
    const { issuer } = idp;
    const token = await idp.token();
    await idp.leave();
    await using bed = await openBed({ auth: { jwt: { issuer, audience: AUDIENCE } } });
    for (const caller of bed.callers) {
      const { failure, headers } = await errorOf(caller.unary("ListTasks", {}, headersOf(token)));
      checkFailure(caller, failure, "IDENTITY_UNAVAILABLE");
      assert.equal(failure.message, "whoever vouches for callers cannot be asked right now");
      if (caller.binding !== "grpc" && caller.binding !== "grpc-web") assert.equal(headers.get("retry-after"), "2");
    }
  });

  test("that are at hand go on being used while their issuer is away, and are fetched when it is back", async () => {
    await using idp = await IdentityProvider.open();
    const keys = new IssuerKeys({ issuer: idp.issuer, coolDownMs: 0 });
    const jwts = new Jwts([issuerOf(idp, keys)]);
    const [first, second] = [await idp.token(), await idp.token({ sub: "bob" })];
    await idp.addKey("k2", "ES256");
    const third = await idp.token({ sub: "carol" });
    let port = await idp.leave();
    await assert.rejects(jwts.read(first), { reason: "IDENTITY_UNAVAILABLE" });
    idp.published.delete("k2");
    await idp.listen(port);
    assert.equal(await nameOf(jwts, first), "alice");
    port = await idp.leave();
    assert.equal(await nameOf(jwts, second), "bob");
    await assert.rejects(jwts.read(third), { reason: "IDENTITY_UNAVAILABLE" });
    idp.published.add("k2");
    await idp.listen(port);
    assert.equal(await nameOf(jwts, third), "carol");
  });

  test("are not taken from an issuer whose document is another's, nor from where it may not lead", async () => {
    await using idp = await IdentityProvider.open();
    for (const discovery of [{ issuer: "https://other.test" }, { jwks_uri: 3 }, { jwks_uri: "no url" }]) {
      idp.fault = { discovery };
      await using bed = await bedOf(idp);
      checkFailure(bed.rest, (await refusal(bed, await idp.token())).failure, "IDENTITY_UNAVAILABLE");
      assert.equal(idp.fetches, 0);
    }
    idp.fault = { status: 500 };
    await using bed = await bedOf(idp);
    checkFailure(bed.rest, (await refusal(bed, await idp.token())).failure, "IDENTITY_UNAVAILABLE");
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

/** An issuer as a server's options make it. */
function issuerOf(idp: IdentityProvider, keys: IssuerKeys): JwtIssuer {
  return {
    issuer: idp.issuer,
    audience: [AUDIENCE],
    algorithms: ["ES256", "RS256"],
    clockSkewSeconds: 30,
    keys,
    principalClaim: "sub",
    prefix: "",
    claims: [],
    declared: {},
  };
}

async function nameOf(jwts: Jwts, token: string): Promise<string | undefined> {
  const judged = await jwts.read(token);
  return judged !== undefined && "name" in judged ? judged.name : undefined;
}

/** Uses what is opened for the length of a step. */
async function during<T extends AsyncDisposable>(open: Promise<T>, step: (opened: T) => Promise<void>): Promise<void> {
  await using opened = await open;
  await step(opened);
}
