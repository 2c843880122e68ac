/** `throughline serve --upstream`, as operators meet it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { A2AClient } from "../../src/client/index.ts";
import { openBed } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { makeCertificates } from "../certificates.ts";
import { cli, QUICK, runCli, startServer } from "../e2e/server-process.ts";
import { freePort } from "../redis/free-port.ts";
import { asTask, begin, said, seen, stateName } from "../upstream/tasks.ts";

suite("throughline serve --upstream", { concurrency: 2, timeout: 240_000 }, () => {
  test("serves another agent, by the URL of its card or by host:port, and says which", async () => {
    await using upstream = await openBed();
    const { grpc, http } = upstream.server.ports;
    for (const [address, name] of [
      [`http://127.0.0.1:${http}`, "scenarios"],
      [`127.0.0.1:${http}`, "scenarios"],
      [`127.0.0.1:${grpc}`, `127.0.0.1:${grpc}`],
    ] as const) {
      await using front = await startServer(["--upstream", address]);
      assert.ok(front.process.stdout.startsWith(`${name} is served\n`));
      assert.ok(front.process.stdout.includes(`\n  upstream    ${address}\n`));
      await using client = await A2AClient.connect(`http://127.0.0.1:${front.ports.http}`);
      assert.equal(stateName(asTask(await client.send("complete"))), "COMPLETED");
    }
  });

  test("takes how the upstream is called from flags and from the environment", async () => {
    const extensions = [{ uri: "urn:example:a:v1" }, { uri: "urn:example:b:v1" }];
    const agent = new ScenarioAgent({ acceptsMessages: true, card: { capabilities: { extensions } } });
    await using upstream = await openBed({ tokens: { s3cret: "the-front" } }, agent);
    const env = {
      ...QUICK,
      THROUGHLINE_UPSTREAM: `http://127.0.0.1:${upstream.server.ports.http}`,
      THROUGHLINE_UPSTREAM_TOKEN: "s3cret",
      THROUGHLINE_UPSTREAM_ACCEPTS_MESSAGES: "true",
    };
    const flags = ["--upstream-binding", "json-rpc", "--upstream-extensions", "urn:example:a:v1", "--upstream-first-word-ms", "0"];
    await using front = await startServer(flags, env);
    await using client = await A2AClient.connect(`http://127.0.0.1:${front.ports.http}`, {
      extensions: ["urn:example:a:v1", "urn:example:b:v1"],
    });
    const task = asTask(await client.send("extensions"));
    assert.match(said(task), /urn:example:a:v1/);
    assert.doesNotMatch(said(task), /urn:example:b:v1/);
    const gate = agent.gate();
    gate.open();
    const id = await begin(client, `converse ${gate.name}`);
    await seen(client, id, (one) => said(one) === "listening");
    assert.equal(said(asTask(await client.send("more", { taskId: id }))), "heard more");
    assert.ok(!front.process.stdout.includes("s3cret"));
  });

  test("hands callers' credentials on where it is told to, tells callers apart by them, and keeps what the card says of them", async () => {
    await using upstream = await openBed({ tokens: { a: "ann", b: "bob" } });
    const args = ["--upstream", `http://127.0.0.1:${upstream.server.ports.http}`, "--forward-headers", "authorization"];
    await using front = await startServer(args);
    const url = `http://127.0.0.1:${front.ports.http}`;
    const as = (token: string) => A2AClient.connect(url, { headers: { authorization: `Bearer ${token}` } });
    await using ann = await as("a");
    await using bob = await as("b");
    const task = asTask(await ann.send("complete"));
    await assert.rejects(() => bob.getTask(task.id), { reason: "TASK_NOT_FOUND" });
    assert.deepEqual(Object.keys((await ann.card()).securitySchemes), ["bearer"]);
    await using nobody = await A2AClient.connect(url);
    await assert.rejects(async () => nobody.send("complete"), { reason: "UNAUTHENTICATED" });
  });

  test("waits for an upstream that is not up yet, and says so", async () => {
    const port = await freePort();
    const front = cli(["serve", "--upstream", `127.0.0.1:${port}`]);
    await using _front = front;
    await front.until(({ stderr }) => stderr.includes(`waiting for the upstream agent at 127.0.0.1:${port}`));
    await using _upstream = await openBed({ httpPort: port });
    await front.until(({ stdout }) => stdout.includes("scenarios is served"));
    assert.equal(front.stderr.match(/waiting/g)?.length, 1);
  });

  test("gives up on one that does not come up", async () => {
    const port = await freePort();
    const { code, stderr, stdout } = await runCli(["serve", "--upstream", `127.0.0.1:${port}`, "--upstream-wait-ms", "100"], QUICK);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /--upstream: .*ECONNREFUSED.*; it was waited for 0 s\n$/);
  });

  test("refuses what does not go together, and what is no upstream, in a line that says what would be right", async () => {
    await using required = await openBed(
      {},
      new ScenarioAgent({ card: { capabilities: { extensions: [{ uri: "urn:x", required: true }] } } }),
    );
    const { http } = required.server.ports;
    const upstream = ["--upstream", `http://127.0.0.1:${http}`];
    for (const [args, wrong] of [
      [[], /name the agent to serve: the path of its module, or --upstream/],
      [["examples/list-worker/agent.ts", ...upstream], /<agent> and --upstream exclude each other/],
      [["examples/list-worker/agent.ts", "--upstream-token", "t"], /--upstream-token: has no effect without --upstream/],
      [["--upstream", "nowhere"], /--upstream: nowhere is neither the URL of a card nor host:port/],
      [["--upstream", "ftp://x.example"], /--upstream: ftp:\/\/x\.example is no http or https URL/],
      [[...upstream, "--upstream-binding", "smoke"], /Allowed choices are grpc, rest, json-rpc, connect/],
      [[...upstream, "--upstream-cert", "c.pem"], /--upstream-cert and --upstream-key go together/],
      [[...upstream, "--upstream-ca", "none.pem"], /--upstream-ca: cannot read none\.pem/],
      [[...upstream, "--upstream-away-ms", "long"], /whole number of milliseconds/],
      [upstream, /--upstream: the upstream agent requires extensions that are not handed on: urn:x/],
    ] as const) {
      const { code, stderr, stdout } = await runCli(["serve", ...args], QUICK);
      assert.match(stderr, wrong);
      assert.deepEqual([code, stdout], [2, ""], stderr);
    }
  });

  test("speaks TLS to an upstream that wants it, and shows the certificate that it is given", async () => {
    const folder = mkdtempSync(join(tmpdir(), "throughline-front-"));
    try {
      const { ca, cert, key } = makeCertificates(folder, "IP:127.0.0.1");
      await using upstream = await openBed({ tls: { cert, key, clientCa: ca, clientAuth: "require" } });
      const address = `https://127.0.0.1:${upstream.server.ports.http}`;
      const pem = ["--upstream-ca", ca, "--upstream-cert", cert, "--upstream-key", key];
      await using front = await startServer(["--upstream", address, ...pem, "--upstream-binding", "grpc"]);
      await using client = await A2AClient.connect(`http://127.0.0.1:${front.ports.http}`);
      assert.equal(stateName(asTask(await client.send("complete"))), "COMPLETED");
      const { code, stderr } = await runCli(["serve", "--upstream", address, "--upstream-wait-ms", "0"], QUICK);
      assert.equal(code, 2);
      assert.match(stderr, /certificate/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
