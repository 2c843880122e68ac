/** Signed cards: what is signed, who can verify it, and whom a client trusts. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { type AgentCard as SdkCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { decodeProtectedHeader, exportJWK, generateKeyPair, type JWK } from "jose";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, verifyCardSignature } from "../../src/client/index.ts";
import type { AgentCardInit } from "../../src/core/agent.ts";
import { cardPayloads } from "../../src/rpc/card-payloads.ts";
import { OptionsError } from "../../src/server/options.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

const CARD = "/.well-known/agent-card.json";
const JWKS = "/.well-known/jwks.json";

const folder = temporaryFolder("auth-signatures");
after(() => removeFolder(folder));

/** A private key in a file, by openssl. */
function keyFile(name: string, ...args: string[]): string {
  const file = join(folder, `${name}.pem`);
  execFileSync("openssl", ["genpkey", ...args, "-out", file], { stdio: "pipe" });
  return file;
}

const EC = keyFile("ec", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1");
const ED = keyFile("ed", "-algorithm", "ed25519");
const RSA = keyFile("rsa", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048");

async function published(bed: Bed): Promise<{ text: string; json: JsonObject; card: AgentCard; keys: JWK[] }> {
  const { text } = await bed.rest.http.fetch({ method: "GET", target: CARD });
  const json = JSON.parse(text) as JsonObject;
  const { keys } = JSON.parse((await bed.rest.http.fetch({ method: "GET", target: JWKS })).text) as { keys: JWK[] };
  return { text, json, card: fromJson(AgentCardSchema, json), keys };
}

/** Every kind of member that a card can have, some of them empty. */
const RICH: Partial<AgentCardInit> = {
  description: "",
  provider: { organization: "Ünïcode & Söhne €\u{1F600}", url: "https://example.org" },
  skills: [
    { id: "a", name: "A", description: "with nothing", tags: [] },
    { id: "b", name: "B", description: "", tags: ["t"], examples: ["x", ""], inputModes: [] },
  ],
  capabilities: {
    streaming: true,
    extensions: [{ uri: "urn:x", required: false, description: "", params: { n: 1e21, f: 0.1, deep: { list: [] } } }],
  },
  defaultInputModes: [],
};

suite("a signed card", { timeout: 60_000 }, () => {
  test("R-331 R-338 R-339 R-340 R-342 R-347 has a signature by each key, and the keys are published", async () => {
    await using bed = await openBed({ signing: { keys: [EC, ED, RSA] } });
    const { card, keys } = await published(bed);
    assert.deepEqual(
      keys.map(({ kty, alg, use, d }) => [kty, alg, use, d]),
      [
        ["EC", "ES256", "sig", undefined],
        ["OKP", "EdDSA", "sig", undefined],
        ["RSA", "RS256", "sig", undefined],
      ],
    );
    const headers = card.signatures.map((signature) => decodeProtectedHeader(signature));
    for (const { alg, kid } of keys) assert.ok(headers.some((header) => header.alg === alg && header.kid === kid));
    for (const header of headers) assert.deepEqual([header.typ, header["jku"]], ["JOSE", undefined]);
    for (const { protected: header, signature } of card.signatures) {
      assert.match(header, /^[\w-]+$/);
      assert.match(signature, /^[\w-]+$/);
    }
    // Each key alone is enough.
    for (const key of keys) await verifyCardSignature({ keys: [key] })(card, {});
  });

  test("R-341 says where its keys are, where that is an https URL and the operator does not mind", async () => {
    const publicHttpUrl = "https://agent.example/base/";
    for (const [options, jku] of [
      [{ publicHttpUrl }, "https://agent.example/base/.well-known/jwks.json"],
      [{ publicHttpUrl, signing: { keys: [EC], jku: false } }, undefined],
      [{ publicHttpUrl: "http://agent.example" }, undefined],
    ] as const) {
      await using bed = await openBed({ signing: { keys: [EC] }, ...(options as object) });
      const { card } = await published(bed);
      for (const signature of card.signatures) assert.equal(decodeProtectedHeader(signature)["jku"], jku);
    }
  });

  test("R-332 R-333 R-334 R-335 R-336 R-337 is signed over what A2A says, byte for byte", () => {
    // The example of A2A 8.4.1.
    const card = create(AgentCardSchema, {
      name: "Example Agent",
      description: "",
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
      skills: [],
      signatures: [{ protected: "x", signature: "y" }],
    });
    const [payload = ""] = cardPayloads(card);
    const { name, description, capabilities, skills, ...more } = JSON.parse(payload) as JsonObject;
    assert.deepEqual(
      { name, description, capabilities, skills },
      {
        name: "Example Agent",
        description: "",
        capabilities: { pushNotifications: false, streaming: false },
        skills: [],
      },
    );
    // Other REQUIRED members stand there as well, and nothing else does.
    assert.deepEqual(more, { version: "", defaultInputModes: [], defaultOutputModes: [], supportedInterfaces: [] });
    assert.equal(
      payload,
      '{"capabilities":{"pushNotifications":false,"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"",' +
        '"name":"Example Agent","skills":[],"supportedInterfaces":[],"version":""}',
    );
  });

  test("is taken by the official JavaScript SDK, whatever of it is empty", async () => {
    for (const card of [{}, RICH]) {
      await using bed = await openBed({ signing: { keys: [EC] }, tokens: { t: "alice" } }, new ScenarioAgent({ card }));
      const { json, keys } = await published(bed);
      const find = async (kid: string): Promise<JWK> => keys.find((key) => key.kid === kid) ?? assert.fail("an unknown key");
      // As it came: what the SDK has read once already loses its security schemes when it reads it again to verify it.
      await verifyAgentCardSignature(find)(json as unknown as SdkCard);
      await assert.rejects(verifyAgentCardSignature(find)({ ...json, name: "forged" } as unknown as SdkCard));
    }
  });

  test("R-136 that is for one caller is signed too", async () => {
    class Extended extends ScenarioAgent {
      override async extendedCard({ principal }: { principal: string }): Promise<AgentCardInit> {
        return { ...this.card, description: `for ${principal}` };
      }
    }
    await using bed = await openBed({ signing: { keys: [EC] }, tokens: { t: "alice" } }, new Extended());
    const { keys } = await published(bed);
    for (const caller of bed.callers) {
      const { message } = await caller.unary("GetExtendedAgentCard", {}, { headers: { authorization: "Bearer t" } });
      assert.equal(message["description"], "for alice");
      await verifyCardSignature({ keys })(fromJson(AgentCardSchema, message), message);
    }
  });

  test("keys may be JWKs with names of their own", async () => {
    const { privateKey } = await generateKeyPair("ES384", { extractable: true });
    const file = join(folder, "named.jwk");
    writeFileSync(file, JSON.stringify({ ...(await exportJWK(privateKey)), kid: "of-2026" }));
    await using bed = await openBed({ signing: { keys: [file] } });
    const { keys, card } = await published(bed);
    assert.deepEqual(
      keys.map(({ kid, alg, d }) => [kid, alg, d]),
      [["of-2026", "ES384", undefined]],
    );
    await verifyCardSignature({ keys })(card, {});
  });

  test("keys that cannot sign are named", async () => {
    const [garbage, weak, open] = [
      join(folder, "garbage"),
      keyFile("weak", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"),
      join(folder, "open"),
    ];
    writeFileSync(garbage, "nothing");
    execFileSync("openssl", ["pkey", "-in", EC, "-pubout", "-out", open]);
    for (const [file, message] of [
      [join(folder, "none"), /^signing\.keys: cannot read .*none$/],
      [garbage, /^signing\.keys: .*garbage holds no private key in PEM or as JWK$/],
      [open, /^signing\.keys: .*open holds no private key/],
      [weak, /^signing\.keys: the key in .*weak\.pem is none of EC, RSA of 2048 bits and Ed25519$/],
    ] as const) {
      await assert.rejects(
        openBed({ signing: { keys: [file] } }),
        (error: unknown) => error instanceof OptionsError && message.test(error.message),
      );
    }
  });

  test("there are no keys where nothing is signed", async () => {
    await using bed = await openBed();
    assert.equal((await bed.rest.http.fetch({ method: "GET", target: JWKS })).status, 404);
    assert.deepEqual((await bed.rest.http.fetch({ method: "GET", target: CARD })).text.includes("signatures"), false);
  });

  test("calls an agent whose card is signed, and none whose card was changed on the way", async () => {
    await using bed = await openBed({ signing: { keys: [EC] } });
    const { json } = await published(bed);
    const base = `http://127.0.0.1:${bed.server.ports.http}`;
    const verifyCard = verifyCardSignature({ jwksUrls: [`${base}${JWKS}`] });
    await using client = await A2AClient.connect(base, { verifyCard });
    const answer = await client.send("complete");
    assert.ok("status" in answer);
    const forger = createServer((_, response) => {
      const forged: JsonValue = {
        ...json,
        supportedInterfaces: [{ url: "http://127.0.0.1:9", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(forged));
    });
    await new Promise<void>((resolve) => forger.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = forger.address() as AddressInfo;
      await assert.rejects(A2AClient.connect(`http://127.0.0.1:${port}`, { verifyCard }), /a signature does not fit the card/);
    } finally {
      forger.closeAllConnections();
      await new Promise((resolve) => forger.close(resolve));
    }
  });

  test("signatures are the same for all replicas that have the same keys and are reached alike", async () => {
    const init = { signing: { keys: [ED] }, publicHttpUrl: "https://agent.example", publicGrpcUrl: "agent.example:443" };
    await using one = await openBed(init);
    await using other = await openBed(init);
    assert.equal((await published(one)).text, (await published(other)).text);
    assert.ok(readFileSync(ED, "utf8").includes("PRIVATE KEY"));
  });
});
