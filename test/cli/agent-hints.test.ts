/** What the command line says to a caller who goes to the wrong port, trusts nobody or is not known. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, suite, test } from "node:test";
import { openBed } from "../bindings/bed.ts";
import { Authority } from "../certificates.ts";
import { runCli, startServer } from "../e2e/server-process.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";

const AGENT = "examples/test-runner/agent.ts";
const folder = temporaryFolder("agent-hints");
after(() => removeFolder(folder));
const authority = new Authority(folder);
const { ca, cert, key } = authority.issue("server", { names: "IP:127.0.0.1" });
const other = authority.issue("other");

/** What `throughline list` says of an agent that it cannot call. */
async function refusal(agent: string, ...args: string[]): Promise<string> {
  const { code, stderr } = await runCli(["list", "--agent", agent, ...args]);
  assert.equal(code, 5, stderr);
  assert.match(stderr, /^throughline: .*\n$/);
  assert.doesNotMatch(stderr, /openssl|error:0|Node\.js/);
  return stderr;
}

suite("a caller is told what to try", { concurrency: 2, timeout: 240_000 }, () => {
  test("at the wrong port, or with the wrong scheme", async () => {
    await using plain = await openBed();
    await using secure = await openBed({ tls: { cert, key } });
    const { http, grpc } = plain.server.ports;
    assert.match(await refusal(`https://127.0.0.1:${http}`), new RegExp(`no TLS is spoken there; try http://127\\.0\\.0\\.1:${http}, `));
    assert.match(await refusal(`http://127.0.0.1:${grpc}`), /this looks like a gRPC port: the card is at the agent's HTTP port/);
    const { ports } = secure.server;
    assert.match(await refusal(`http://127.0.0.1:${ports.http}`), new RegExp(`try https://127\\.0\\.0\\.1:${ports.http}, `));
    assert.match(await refusal(`https://127.0.0.1:${ports.grpc}`, "--ca", ca), /this looks like a gRPC port/);
    assert.match(await refusal(`https://127.0.0.1:${ports.http}`), /--ca FILE says which one to trust/);
  });

  test("without a certificate where one is wanted, and with a key that is not that of the certificate", async () => {
    await using bed = await openBed({ tls: { cert, key, clientCa: ca } });
    const agent = `https://127.0.0.1:${bed.server.ports.http}`;
    assert.match(await refusal(agent, "--ca", ca), /give it by --cert FILE --key FILE/);
    const { code, stderr } = await runCli(["list", "--agent", agent, "--ca", ca, "--cert", cert, "--key", other.key]);
    const said = `throughline: --key: ${other.key} is not the key of the certificate in ${cert} (--cert)\n`;
    assert.deepEqual([code, stderr], [2, said]);
  });

  test("without an API key, and with a wrong one", async () => {
    const sha256 = createHash("sha256").update("right").digest("hex");
    await using bed = await openBed({ auth: { apiKeys: { keys: [{ sha256, name: "alice" }] } } });
    const agent = `http://127.0.0.1:${bed.server.ports.http}`;
    for (const args of [[], ["--header", "x-api-key: wrong"]])
      assert.match(await refusal(agent, ...args), /UNAUTHENTICATED: .*; give a key: --header 'x-api-key: <key>'\n$/);
    assert.equal((await runCli(["list", "--agent", agent, "--header", "x-api-key: right"])).code, 0);
  });

  test("whose webhook is refused for where it is, on the machine of the agent", async () => {
    await using bed = await openBed({ push: { enabled: true } });
    const agent = `http://127.0.0.1:${bed.server.ports.http}`;
    for (const url of ["http://hooks.example/", "https://127.0.0.1/"]) {
      const { code, stderr } = await runCli(["send", "--agent", agent, "--push", url, "complete"]);
      assert.equal(code, 5);
      assert.match(stderr, /INVALID_ARGUMENT: .*; if the agent is yours: `.* serve --push-allow HOST` lets it be called\n$/);
    }
  });

  test("by the lines to try of a server with TLS", async () => {
    const tls = ["--tls-cert", cert, "--tls-key", key];
    const ports = ["--grpc-port", "0", "--http-port", "0", "--ops-port", "0"];
    await using plain = await startServer([AGENT, ...ports, ...tls]);
    assert.match(plain.process.stdout, / send --agent https:\S+ --ca '<ca\.pem>' --binding grpc /);
    assert.match(plain.process.stdout, /curl .* --cacert '<ca\.pem>' https:/);
    await using mutual = await startServer([AGENT, ...ports, ...tls, "--tls-client-ca", ca]);
    assert.match(mutual.process.stdout, / --ca '<ca\.pem>' --cert '<cert\.pem>' --key '<key\.pem>' --binding grpc /);
    assert.match(mutual.process.stdout, /curl .* --cacert '<ca\.pem>' --cert '<cert\.pem>' --key '<key\.pem>' https:/);
  });
});
