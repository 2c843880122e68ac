/** Whom a client trusts that verifies the signatures of cards. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { base64url, exportJWK, FlattenedSign, generateKeyPair, importJWK, type JWK } from "jose";
import { type AgentCard, AgentCardSchema, AgentCardSignatureSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError, verifyCardSignature } from "../../src/client/index.ts";
import { cardPayloads } from "../../src/rpc/card-payloads.ts";

/** A card that is signed by keys of the test's own. */
async function signedBy(...keys: readonly { readonly key: JWK; readonly header?: JsonObject }[]): Promise<AgentCard> {
  const card = create(AgentCardSchema, { name: "agent", version: "1" });
  const [payload = ""] = cardPayloads(card);
  for (const { key, header = {} } of keys) {
    const given = { alg: key.alg ?? "ES256", kid: key.kid, typ: "JOSE", ...header };
    const jws = await new FlattenedSign(new TextEncoder().encode(payload))
      .setProtectedHeader(given as { alg: string })
      .sign(await importJWK(key, given.alg));
    card.signatures.push(create(AgentCardSignatureSchema, { protected: jws.protected ?? "", signature: jws.signature }));
  }
  return card;
}

async function newKey(kid: string, more: object = {}): Promise<{ key: JWK; open: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return {
    key: { ...(await exportJWK(privateKey)), kid, alg: "ES256" },
    open: { ...(await exportJWK(publicKey)), kid, alg: "ES256", ...more },
  };
}

/** What is said of a card that is not taken. */
async function why(verify: ReturnType<typeof verifyCardSignature>, card: AgentCard): Promise<string> {
  try {
    await verify(card, {});
  } catch (error) {
    if (error instanceof A2AError) return error.message.replace("the agent card is not to be trusted: ", "");
    throw error;
  }
  return assert.fail("it was taken");
}

suite("a client that verifies cards", { timeout: 60_000 }, () => {
  test("takes a card by one good signature of several, and says why it takes none", async () => {
    const [trusted, other] = [await newKey("a"), await newKey("b")];
    const verify = verifyCardSignature({ keys: [trusted.open] });
    await verify(await signedBy(other, trusted), {});
    assert.equal(await why(verify, await signedBy()), "it has no signature");
    assert.equal(await why(verify, await signedBy(other)), "a signature is by a key that is not trusted");
    assert.equal(await why(verify, await signedBy({ key: { ...other.key, kid: "a" } })), "a signature does not fit the card");
    assert.equal(
      await why(verify, await signedBy({ key: trusted.key, header: { kid: undefined as unknown as string } })),
      "a signature names no key",
    );
    const changed = await signedBy(trusted);
    changed.version = "2";
    assert.equal(await why(verify, changed), "a signature does not fit the card");
    const garbled = await signedBy(trusted);
    garbled.signatures[0] = create(AgentCardSignatureSchema, { protected: "!!", signature: "" });
    assert.match(await why(verify, garbled), /^a signature cannot be judged/);
  });

  test("takes no key that has expired or was revoked, is for something else, or comes with a certificate that has run out", async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const more of [{ exp: now - 1 }, { nbf: now + 3600 }, { revoked: { revoked_at: now } }, { use: "enc" }]) {
      const { key, open } = await newKey("a", more);
      assert.equal(
        await why(verifyCardSignature({ keys: [open] }), await signedBy({ key })),
        "a signature is by a key that has expired or was revoked",
      );
    }
    const { key, open } = await newKey("a", { exp: now + 3600, nbf: now - 3600 });
    await verifyCardSignature({ keys: [open] })(await signedBy({ key }), {});
  });

  test("tries every key of a name: one of another kind, or one that cannot be read, stands in the way of none", async () => {
    const { key, open } = await newKey("1");
    const rsa = await generateKeyPair("RS256", { extractable: true });
    const others: readonly JWK[] = [
      { ...(await exportJWK(rsa.publicKey)), kid: "1" },
      { kty: "unheard of", kid: "1" },
      { ...open, x: "AAAA" },
      { ...open, x5c: ["no certificate"] },
    ];
    const card = await signedBy({ key });
    await verifyCardSignature({ keys: [...others, open] })(card, {});
    const verify = verifyCardSignature({ keys: others });
    assert.match(await why(verify, card), /^a signature (cannot be judged|does not fit)/);
  });

  test("needs no set that cannot be had where another one, or a key at hand, has the key", async () => {
    const { key, open } = await newKey("a");
    const fetch = async (url: string): Promise<Response> => {
      if (url.includes("down")) throw new Error("it is down");
      return Response.json({ keys: [open] });
    };
    const [down, up] = ["https://down.example/jwks", "https://up.example/jwks"];
    const card = await signedBy({ key });
    await verifyCardSignature({ jwksUrls: [down, up], fetch })(card, {});
    await verifyCardSignature({ keys: [open], jwksUrls: [down], fetch })(card, {});
    assert.match(await why(verifyCardSignature({ jwksUrls: [down], fetch }), card), /^a signature cannot be judged/);
  });

  test("takes no signature by a secret or by nothing", async () => {
    const secret: JWK = { kty: "oct", k: base64url.encode("a secret that everybody knows, as it is"), kid: "a", alg: "HS256" };
    assert.match(
      await why(verifyCardSignature({ keys: [secret] }), await signedBy({ key: secret })),
      /^a signature cannot be judged: "alg"/,
    );
  });

  test("has to trust somebody, and fetches keys by https", () => {
    assert.throws(() => verifyCardSignature({}), TypeError);
    for (const url of ["http://agent.example/keys", "ftp://x", "keys"])
      assert.throws(() => verifyCardSignature({ jwksUrls: [url] }), TypeError);
  });

  test("fetches keys from the sets that it trusts, whatever the card says, and again when a key is new", async () => {
    const [old, fresh, evil] = [await newKey("old"), await newKey("fresh"), await newKey("old")];
    const sets = new Map<string, JWK[]>([
      ["/trusted", [old.open]],
      ["/evil", [evil.open]],
    ]);
    const asked: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      asked.push(url);
      response.end(JSON.stringify({ keys: sets.get(url) ?? [] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const jku = (path: string): { header: JsonObject } => ({ header: { jku: `${base}${path}` } });
      const verify = verifyCardSignature({ jwksUrls: [`${base}/trusted`] });
      for (const header of [{}, jku("/trusted")]) await verify(await signedBy({ key: old.key, ...header }), {});
      assert.equal(await why(verify, await signedBy({ key: evil.key, ...jku("/evil") })), "a signature is by a key that is not trusted");
      assert.equal(await why(verify, await signedBy({ key: evil.key })), "a signature does not fit the card");
      // The set was fetched a moment ago: a key that is not in it is not looked for again so soon.
      sets.set("/trusted", [fresh.open]);
      assert.equal(await why(verify, await signedBy(fresh)), "a signature is by a key that is not trusted");
      assert.deepEqual(asked, ["/trusted"]);
      // Another client sees the rotation: the old key is withdrawn.
      const later = verifyCardSignature({ jwksUrls: [`${base}/trusted`] });
      await later(await signedBy(old, fresh), {});
      assert.equal(await why(later, await signedBy(old)), "a signature is by a key that is not trusted");
      assert.deepEqual(asked, ["/trusted", "/trusted"]);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
