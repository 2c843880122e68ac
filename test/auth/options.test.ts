/** Access and TLS as an operator sets them: by variables, flags and a file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OptionsError } from "../../src/server/options.ts";
import { readOptions } from "../../src/cli/read-options.ts";

const ISSUER = { issuer: "https://login.example", audience: "agent" };

test("authentication and TLS are set by variables and flags, objects as JSON and lists by commas", async () => {
  const { auth, tls, signing } = await readOptions(
    { "tls-cert": "server.pem", "signing-keys": "a.pem,b.jwk", "auth-scopes": '{"*":["a"]}' },
    {
      THROUGHLINE_AUTH_JWT: JSON.stringify(ISSUER),
      THROUGHLINE_AUTH_API_KEYS: JSON.stringify({ keys: [{ sha256: "0".repeat(64), name: "alice" }] }),
      THROUGHLINE_TLS_KEY: "server.key",
      THROUGHLINE_TLS_HSTS_MAX_AGE_SECONDS: "0",
      THROUGHLINE_SIGNING_JKU: "false",
    },
    undefined,
  );
  assert.deepEqual([auth.jwt?.[0]?.audience, auth.jwt?.[0]?.principalClaim], [["agent"], "sub"]);
  assert.deepEqual(auth.apiKeys, { in: "header", name: "x-api-key", keys: [{ sha256: "0".repeat(64), name: "alice" }] });
  assert.deepEqual(auth.scopes, { "*": ["a"] });
  assert.deepEqual([tls.cert, tls.key, tls.hstsMaxAgeSeconds], ["server.pem", "server.key", 0]);
  assert.deepEqual(signing, { keys: ["a.pem", "b.jwk"], jku: false });
});

test("what is wrong is told with where it was set", async () => {
  for (const [environment, message] of [
    [
      { THROUGHLINE_AUTH_JWT: JSON.stringify([ISSUER, { ...ISSUER, prefix: "x" }]) },
      "THROUGHLINE_AUTH_JWT (auth.jwt.1.issuer: stands there twice)",
    ],
    [
      { THROUGHLINE_AUTH_SCOPES: '{"Send":["a"]}' },
      /^THROUGHLINE_AUTH_SCOPES \(auth\.scopes\.Send: is no operation; right are SendMessage, /,
    ],
    [
      { THROUGHLINE_AUTH_API_KEYS: '{"name":"Authorization","keys":[{"sha256":"12","name":"anonymous"}]}' },
      /name: is not where bearer tokens are\)\n.*sha256: is the SHA-256 of a key, 64 hexadecimal digits\)\n.*name: may not be anonymous/,
    ],
    [{ THROUGHLINE_AUTH_JWT: '{"issuer":"https://login.example"}' }, "THROUGHLINE_AUTH_JWT (auth.jwt.0.audience: is needed)"],
    [{ THROUGHLINE_TLS_CERT: "a" }, /tls\.key: tls\.cert and tls\.key go together/],
  ] as const) {
    await assert.rejects(readOptions({}, environment, undefined), (error: unknown) => {
      assert.ok(error instanceof OptionsError);
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    });
  }
});
