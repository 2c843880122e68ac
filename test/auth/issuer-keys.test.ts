/** The keys of issuers: how they are found, and what happens while an issuer is away. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { IssuerKeys } from "../../src/rpc/auth/issuer-keys.ts";
import { type JwtIssuer, Jwts } from "../../src/rpc/auth/jwt.ts";
import { errorOf, openBed } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";
import { AUDIENCE, IdentityProvider } from "./identity-provider.ts";
import { bedOf, headersOf, refusal, whoIs, whyRefused } from "./jwt-bed.ts";

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
