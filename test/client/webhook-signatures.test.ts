/** Signatures of notifications: which a receiver of webhooks takes, where it wants them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test } from "node:test";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { openReceiver, seconds, taken, WORKING } from "./webhook-bed.ts";

suite("signatures of notifications", async () => {
  const [pair, stranger] = [await generateKeyPair("ES256"), await generateKeyPair("ES256")];
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid: "k" }];
  const body = JSON.stringify(WORKING);
  const issuer = "https://agent.example";
  const good = (origin: string): JWTPayload => ({
    iss: issuer,
    aud: origin,
    iat: Number(seconds(0)),
    exp: Number(seconds(300)),
    jti: "t-1/1.a",
    request_body_sha256: createHash("sha256").update(body).digest("hex"),
  });
  const signed = (
    claims: JWTPayload,
    { key = pair.privateKey, alg = "ES256" }: { key?: CryptoKey | Uint8Array; alg?: string } = {},
  ): Promise<string> => new SignJWT(claims).setProtectedHeader({ alg, kid: "k" }).sign(key);

  const post = async (
    change: (claims: JWTPayload) => JWTPayload,
    how: Parameters<typeof signed>[1] = {},
    id = "t-1/1.a",
  ): Promise<number> => {
    await using bed = await openReceiver({ jwt: { issuer, keys } });
    const claims = change(good(new URL(bed.webhook.url).origin));
    return (await bed.post(body, { "webhook-id": id, "a2a-notification-jwt": await signed(claims, how) })).status;
  };
  const without = (name: string) => (claims: JWTPayload) => Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));

  test("a good one is taken, and so is one that names no body", async () => {
    assert.equal(await post((claims) => claims), 204);
    assert.equal(await post(without("request_body_sha256")), 204);
  });

  test("as Authorization, where the configuration has no credentials", async () => {
    await using bed = await openReceiver({ jwt: { issuer, keys }, authentication: false });
    const token = await signed(good(new URL(bed.webhook.url).origin));
    assert.equal((await bed.post(body, { authorization: `Bearer ${token}` })).status, 204);
    const [got] = await taken(bed.receiver, 1);
    assert.equal(got?.id, "t-1/1.a", "known by the signature's id");
  });

  const bad: [string, (claims: JWTPayload) => JWTPayload][] = [
    ["another issuer", (claims) => ({ ...claims, iss: "https://other.example" })],
    ["another audience", (claims) => ({ ...claims, aud: "https://other.example" })],
    ["expired", (claims) => ({ ...claims, exp: Number(seconds(-400)) })],
    ["issued long ago", (claims) => ({ ...claims, iat: Number(seconds(-1000)) })],
    ["issued in the future", (claims) => ({ ...claims, iat: Number(seconds(1000)), exp: Number(seconds(2000)) })],
    ["another body", (claims) => ({ ...claims, request_body_sha256: createHash("sha256").update("{}").digest("hex") })],
    ["another event", (claims) => ({ ...claims, jti: "t-1/2.b" })],
    ...["iss", "aud", "iat", "exp", "jti"].map((name): [string, (claims: JWTPayload) => JWTPayload] => [`no ${name}`, without(name)]),
  ];
  for (const [what, change] of bad) test(`${what}: refused`, async () => assert.equal(await post(change), 401));

  test("by another key, or with a secret: refused; without one: refused", async () => {
    assert.equal(await post((claims) => claims, { key: stranger.privateKey }), 401);
    assert.equal(await post((claims) => claims, { key: new Uint8Array(32), alg: "HS256" }), 401);
    await using bed = await openReceiver({ jwt: { issuer, keys } });
    assert.equal((await bed.post(body)).status, 401);
  });

  test("keys that cannot be had say nothing: the sender is to try again", async () => {
    await using bed = await openReceiver({ jwt: { issuer, jwksUrl: "http://127.0.0.1:1/jwks.json" } });
    const token = await signed(good(new URL(bed.webhook.url).origin));
    assert.equal((await bed.post(body, { "a2a-notification-jwt": token })).status, 503);
  });
});
