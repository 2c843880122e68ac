/** Mutual TLS: callers by the certificates that they show, on both ports. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { connect } from "node:tls";
import { Code } from "@connectrpc/connect";
import type { AgentCardInit, CardReader } from "../../src/core/agent.ts";
import { SILENT } from "../../src/core/telemetry.ts";
import { ClientCertificates } from "../../src/rpc/auth/client-certificates.ts";
import { OptionsError } from "../../src/server/options.ts";
import { type Bed, openBed } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { client, factsOf, sendOf, watch, type Way, WAYS } from "../bindings/transport/ways.ts";
import { Authority, type Certificates } from "../certificates.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

const folder = temporaryFolder("auth-mtls");
after(() => removeFolder(folder));

const authority = new Authority(folder);
const stranger = new Authority(folder, "stranger");
const server = authority.issue("server", { names: "IP:127.0.0.1" });
const ALICE = "spiffe://example.org/ns/a/sa/alice";
const alice = authority.issue("alice", { names: `URI:${ALICE}`, subject: "/O=Example/CN=alice" });
const bob = authority.issue("bob", { subject: "/O=Example/CN=bob" });
const expired = authority.issue("expired", { names: `URI:${ALICE}`, days: -1 });
const forged = stranger.issue("forged", { names: `URI:${ALICE}` });

/** Tells callers their names. */
class Telling extends ScenarioAgent {
  override async extendedCard({ principal }: CardReader): Promise<AgentCardInit> {
    return { ...this.card, description: principal };
  }
}

const TLS = { cert: server.cert, key: server.key, clientCa: authority.ca };

function shown({ cert, key }: Certificates): { ca: Buffer; cert: Buffer; key: Buffer } {
  return { ca: readFileSync(authority.ca), cert: readFileSync(cert), key: readFileSync(key) };
}

/** Who a caller is to the server. */
async function nameOf(bed: Bed, way: Way, certificates: Certificates): Promise<string> {
  using opened = client(way.open(bed.server.ports, { tls: shown(certificates) }, "https"));
  return (await opened.client.getExtendedAgentCard({})).description;
}

async function refusal(bed: Bed, way: Way, tls: object): Promise<Awaited<ReturnType<typeof factsOf>>> {
  using opened = client(way.open(bed.server.ports, { tls }, "https"));
  return await factsOf(opened.client.listTasks({}));
}

for (const way of WAYS) {
  test(`R-357 R-368 a caller is who its certificate says, by SPIFFE id or by subject (${way.name})`, async () => {
    for (const [identity, name] of [
      ["spiffe", ALICE],
      ["subject", "CN=alice,O=Example"],
    ] as const) {
      await using bed = await openBed({ tls: TLS, auth: { clientCertificates: { identity } } }, new Telling());
      assert.equal(await nameOf(bed, way, alice), name);
      using opened = client(way.open(bed.server.ports, { tls: shown(alice) }, "https"));
      assert.equal((await watch(opened.client.sendStreamingMessage(sendOf("complete")))).end, "clean");
      assert.equal((await opened.client.listTasks({})).totalSize, 1);
    }
  });

  test(`a client without a trusted certificate gets no connection where one is required (${way.name})`, async () => {
    await using bed = await openBed({ tls: TLS, auth: { clientCertificates: { identity: "spiffe" } } });
    const ca = readFileSync(authority.ca);
    for (const tls of [{ ca }, shown(forged), shown(expired)]) {
      assert.equal((await refusal(bed, way, tls)).code, Code.Unavailable);
    }
  });

  test(`R-243 R-244 where one is asked for and not required, what is shown must be good, and something must be shown (${way.name})`, async () => {
    const auth = { clientCertificates: { identity: "spiffe" } } as const;
    await using bed = await openBed({ tls: { ...TLS, clientAuth: "request" }, auth, tokens: { t: ALICE, b: "bob" } }, new Telling());
    const ca = readFileSync(authority.ca);
    for (const [tls, message] of [
      [{ ca }, "this server wants Authorization: Bearer <token>, or a client certificate"],
      [shown(forged), "the client certificate is not one of an authority that this server trusts"],
      [shown(expired), "the client certificate is not one of an authority that this server trusts"],
      [shown(bob), "the client certificate has no spiffe that names a caller"],
    ] as const) {
      const facts = await refusal(bed, way, tls);
      assert.deepEqual([facts.reason, facts.message], ["UNAUTHENTICATED", message]);
    }
    assert.equal(await nameOf(bed, way, alice), ALICE);
    // A token beside the certificate must stand for the same caller.
    for (const [token, reason] of [
      ["t", undefined],
      ["b", "UNAUTHENTICATED"],
      ["unknown", "UNAUTHENTICATED"],
    ] as const) {
      const headers = { "a2a-version": "1.0", authorization: `Bearer ${token}` };
      using opened = client(way.open(bed.server.ports, { tls: shown(alice), headers }, "https"));
      const call = opened.client.listTasks({});
      if (reason === undefined) await call;
      else assert.equal((await factsOf(call)).reason, reason, token);
    }
  });
}

interface Visit {
  /** Of the reply to a list of tasks. */
  readonly status: string;
  readonly resumed: boolean;
  /** To resume with. */
  readonly session: Buffer;
}

/** Calls over a connection to the HTTP port that shows a certificate. */
async function visit(port: number, certificates: Certificates, session?: Buffer): Promise<Visit> {
  const { ca, cert, key } = shown(certificates);
  const socket = connect({ port, host: "127.0.0.1", ca, cert, key, ALPNProtocols: ["http/1.1"], ...(session && { session }) });
  let ticket = session ?? Buffer.alloc(0);
  socket.on("session", (next: Buffer) => (ticket = next));
  await once(socket, "secureConnect");
  const resumed = socket.isSessionReused();
  socket.end("GET /tasks HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, "close");
  return { status: text.slice(9, 12), resumed, session: ticket };
}

test(
  "a TLS session that is resumed has the certificate with which it began; none is once the authorities have changed",
  { timeout: 60_000 },
  async () => {
    const clientCa = join(folder, "live-ca.pem");
    copyFileSync(authority.ca, clientCa);
    const reloaded = Promise.withResolvers<void>();
    const log = { ...SILENT, info: (_: object, message: string) => (/in the files now/.test(message) ? reloaded.resolve() : undefined) };
    const tls = { ...TLS, clientCa, clientAuth: "request", reloadMs: 10 } as const;
    await using bed = await openBed({ tls, auth: { clientCertificates: { identity: "spiffe" } }, log });
    const { http } = bed.server.ports;
    const first = await visit(http, alice);
    assert.deepEqual([first.status, first.resumed], ["200", false]);
    const second = await visit(http, alice, first.session);
    assert.deepEqual([second.status, second.resumed], ["200", true]);
    copyFileSync(stranger.ca, clientCa);
    await reloaded.promise;
    const third = await visit(http, alice, second.session);
    assert.deepEqual([third.status, third.resumed], ["401", false]);
    assert.equal((await visit(http, forged)).status, "200");
  },
);

suite("the names of certificates", () => {
  const judged = (options: ConstructorParameters<typeof ClientCertificates>[0], pem: string, trusted = true): unknown =>
    new ClientCertificates(options).judge(new Headers(), {
      url: "/",
      certificate: { x509: new X509Certificate(readFileSync(pem)), trusted },
    });

  test("are looked up in the list of those who may call: a whole name before a beginning, a longer one before a shorter", () => {
    const allow = {
      "spiffe://example.org/*": { scopes: ["few"] },
      "spiffe://example.org/ns/a/*": { name: "team a", scopes: ["more"], tenants: ["a"] },
      [ALICE]: { name: "alice", scopes: ["all"] },
    };
    const carol = authority.issue("carol", { names: "URI:spiffe://example.org/ns/a/sa/carol" });
    const dave = authority.issue("dave", { names: "URI:spiffe://example.org/ns/b/sa/dave" });
    const eve = authority.issue("eve", { names: "URI:spiffe://example.com/eve" });
    assert.deepEqual(judged({ identity: "spiffe", allow }, alice.cert), { name: "alice", scopes: ["all"] });
    assert.deepEqual(judged({ identity: "spiffe", allow }, carol.cert), { name: "team a", scopes: ["more"], tenants: ["a"] });
    assert.deepEqual(judged({ identity: "spiffe", allow }, dave.cert), { name: "spiffe://example.org/ns/b/sa/dave", scopes: ["few"] });
    assert.deepEqual(judged({ identity: "spiffe", allow }, eve.cert), { refused: "the client certificate is of nobody who may call" });
    assert.deepEqual(judged({ identity: "subject", allow: { __proto__x: {} } }, alice.cert), {
      refused: "the client certificate is of nobody who may call",
    });
  });

  test("that have run out since the connection began name nobody any more", () => {
    assert.deepEqual(judged({ identity: "spiffe" }, expired.cert), { refused: "the client certificate has expired" });
  });

  test("are one SPIFFE id, and nothing that looks like one", () => {
    for (const [at, names] of [
      "URI:spiffe://example.org/a,URI:spiffe://example.org/b",
      "URI:https://example.org/a",
      "URI:spiffe://example.org",
      "URI:spiffe://EXAMPLE.org/a",
      "URI:spiffe://example.org/a?b",
      "DNS:spiffe.example.org",
    ].entries()) {
      const odd = authority.issue(`odd${at}`, { names });
      assert.ok("refused" in (judged({ identity: "spiffe" }, odd.cert) as object), names);
    }
  });

  test("cannot be made to look like another's subject", () => {
    // A comma, an equals sign and a line end within one part are escaped.
    const odd = authority.issue("odd", { subject: "/CN=alice,O=Example" });
    assert.deepEqual(judged({ identity: "subject" }, odd.cert), { name: "CN=alice\\,O=Example" });
  });
});

test("certificates that are to name callers need authorities that vouch for them", async () => {
  await assert.rejects(openBed({ auth: { clientCertificates: { identity: "spiffe" } } }), (error: unknown) => {
    return (
      error instanceof OptionsError && error.message === "auth.clientCertificates: needs tls.clientCa, whose certificates they are to be"
    );
  });
});
