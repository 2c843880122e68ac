/** The commands that make one call, and the flags that all of them share. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { once } from "node:events";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import type { AgentCardInit, CardReader } from "../../src/core/agent.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { makeCertificates } from "../certificates.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { cliBed, taskIdOf } from "./cli-bed.ts";

type Json = Record<string, any>;

suite("one call", { concurrency: 2, timeout: 240_000 }, () => {
  const card = { skills: [{ id: "all", name: "All", description: "All there is", tags: [], examples: ["complete"] }] };
  const bed = cliBed({ push: { enabled: true } }, new ScenarioAgent({ card }));

  test("card says what the agent is and can; --json has the whole card", async () => {
    const { code, stdout } = await bed.run(["card"]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^scenarios 1\nDoes what the text says\n\nskill {6}All: All there is\nexample {4}complete\ntakes {6}text\/plain\ngives {6}text\/plain\ninterface {2}GRPC 1\.0 127\./,
    );
    assert.match(stdout, /\ncan {8}streaming, webhooks\nextension {2}urn:throughline:a2a:idempotent-send:v1\n/);
    const whole = JSON.parse((await bed.run(["card", "--json"])).stdout) as Json;
    assert.equal(whole["supportedInterfaces"].length, 3);
  });

  test("get shows a task, with as much of its history as was asked for", async () => {
    const id = taskIdOf(await bed.run(["send", "--context", "talks", "talk"]));
    const { code, stdout } = await bed.run(["get", id]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^task {5}${id}\ncontext {2}talks\nstate {4}completed: third\nsince {4}[\\d-]{10}T[\\d:]{8}Z\n$`));
    assert.match((await bed.run(["get", id, "--history", "2"])).stdout, /\nagent {4}first\nagent {4}second\n$/);
    const task = JSON.parse((await bed.run(["get", id, "--json", "--history", "1"])).stdout) as Json;
    assert.deepEqual([task["id"], task["history"].length], [id, 1]);
    const answered = taskIdOf(await bed.run(["send", "complete"]));
    assert.match((await bed.run(["get", answered])).stdout, /\nartifact {2}answer: text, 9 bytes\n$/);
  });

  test("list shows tasks page by page, narrowed down", async () => {
    const ids: string[] = [];
    for (const text of ["complete", "fail", "complete"]) ids.unshift(taskIdOf(await bed.run(["send", "--context", "listed", text])));
    const [third = "", second = "", first = ""] = ids;
    const page = await bed.run(["list", "--context", "listed", "--limit", "2"]);
    assert.equal(page.code, 0);
    assert.match(
      page.stdout,
      new RegExp(`^TASK +STATE +SINCE +CONTEXT\n${third} {2}completed .* listed\n${second} {2}failed .* listed\n$`),
    );
    const [, more = ""] =
      /^2 of 3; more: node src\/cli\/main\.ts (list --context listed --limit 2 --page-token \S+)\n$/.exec(page.stderr) ?? [];
    const rest = await bed.run(more.split(" "));
    assert.ok(rest.stdout.includes(`\n${first} `) && !rest.stdout.includes(second) && rest.stderr === "", rest.stdout);
    const failed = JSON.parse((await bed.run(["list", "--context", "listed", "--state", "failed", "--json"])).stdout) as Json;
    assert.deepEqual([failed["tasks"].map(({ id }: Json) => id), failed["totalSize"], failed["nextPageToken"]], [[second], 1, ""]);
    assert.deepEqual(await bed.run(["list", "--context", "none"]), { code: 0, stdout: "", stderr: "no tasks\n" });
  });

  test("cancel stops a task: 0 where it is canceled, 5 where it had ended", async () => {
    const gate = bed().agent.gate();
    const [, id = ""] = /^task +(\S+)$/m.exec((await bed.run(["send", "--detach", `slow ${gate.name}`])).stdout) ?? [];
    await gate.reached;
    assert.deepEqual(await bed.run(["cancel", id]), { code: 0, stdout: "canceled: stopped\n", stderr: "" });
    assert.equal((JSON.parse((await bed.run(["cancel", "--json", id])).stdout) as Json)["status"].state, "TASK_STATE_CANCELED");
    const done = await bed.run(["cancel", taskIdOf(await bed.run(["send", "complete"]))]);
    assert.equal(done.code, 5);
    assert.match(
      done.stderr,
      /^throughline: TASK_NOT_CANCELABLE: the task has ended already: \w+; `node src\/cli\/main\.ts get [0-9a-f-]{36}` shows how\n$/,
    );
  });

  test("push registers, shows, lists and removes webhooks, and shows no secret to people", async () => {
    const id = taskIdOf(await bed.run(["send", "complete"]));
    const url = "https://example.com/hook";
    const created = await bed.run(["push", "create", id, url, "--id", "hook", "--push-token", "s3cret", "--auth", "Bearer more-s3cret"]);
    const table = `ID    URL\nhook  ${url}\n`;
    assert.deepEqual(created, { code: 0, stdout: table, stderr: "" });
    assert.equal((await bed.run(["push", "get", id, "hook"])).stdout, `${table}\ndone: acknowledged up to 5\n`);
    const shown = JSON.parse((await bed.run(["push", "get", id, "hook", "--json"])).stdout) as Json;
    assert.deepEqual([shown["url"], shown["delivery"].state, shown["delivery"].failures], [url, "done", 0]);
    const unknown = await bed.run(["push", "get", id, "other"]);
    assert.equal(unknown.code, 5);
    assert.match(unknown.stderr, new RegExp(`; \`node src/cli/main\\.ts push list ${id}\` shows its webhooks\n$`));
    assert.equal((await bed.run(["push", "list", id])).stdout, table);
    const [config] = JSON.parse((await bed.run(["push", "list", id, "--json"])).stdout) as Json[];
    assert.deepEqual([config?.["taskId"], config?.["token"], config?.["authentication"].scheme], [id, "s3cret", "Bearer"]);
    assert.deepEqual(await bed.run(["push", "delete", id, "hook"]), { code: 0, stdout: "", stderr: "removed\n" });
    assert.equal((await bed.run(["push", "list", id])).stderr, "no webhooks\n");
    const refused = await bed.run(["push", "create", id, "nowhere"]);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /^throughline: INVALID_ARGUMENT: .*url.*\n$/);
  });

  test("what is wrong with the command line is told in a line and with 2", async () => {
    const wrong: readonly (readonly [args: string[], expected: RegExp])[] = [
      [["get"], /^error: missing required argument 'task'\n\(node src\/cli\/main\.ts get --help shows how\)\n$/],
      [["send", "--wait", "long", "x"], /^error: option '--wait <way>' argument 'long' is invalid\. Allowed choices are auto, /],
      [["list", "--limit", "0"], /^error: option '--limit <count>' argument '0' is invalid\. It must be a whole number above 0\.\n/],
      [["get", "x", "--header", "none"], /argument 'none' is invalid\. It must be 'Name: value'\.\n/],
      [["card", "--agent", "ftp://there"], /argument 'ftp:\/\/there' is invalid\. It must be an http or https URL\.\n/],
      [["card", "--cert", "x.pem"], /^throughline: --cert and --key go together\n$/],
      [["card", "--ca", "/no/such/file"], /^throughline: --ca: cannot read \/no\/such\/file\n$/],
      [["push", "create", "x", "https://x.example", "--auth", "Bearer"], /^throughline: --auth: it must be 'SCHEME CREDENTIALS'\n$/],
      [["push", "dance"], /^error: unknown command 'dance'\n/],
    ];
    for (const [args, expected] of wrong) {
      const { code, stdout, stderr } = await bed.run(args);
      assert.match(stderr, expected);
      assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    }
  });

  test("an agent that is away, and one that does not answer in time, are told in a line and with 5", async () => {
    const away = await bed.run(["card", "--agent", "127.0.0.1:1"]);
    assert.equal(away.code, 5);
    assert.match(
      away.stderr,
      /^throughline: cannot fetch the agent card at http:\/\/127\.0\.0\.1:1\/.*; nothing listens there: `node src\/cli\/main\.ts serve AGENT` serves an agent, --agent or THROUGHLINE_AGENT says where .*\n$/,
    );
    await using behind = await bed.behindProxy("GRPC");
    behind.proxy.halfOpen();
    const late = await bed.run(["get", "x", "--agent", behind.url, "--timeout", "1"]);
    assert.deepEqual(late, { code: 5, stdout: "", stderr: "throughline: no answer in the time that --timeout gives\n" });
  });

  test("help has examples, and the exit codes where they matter", async () => {
    for (const command of ["card", "send", "follow", "get", "list", "push", "completion"]) {
      const { code, stdout } = await bed.run([command, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, /\nExamples:\n/, command);
      if (command === "send" || command === "follow") assert.match(stdout, /\nExit codes:\n {2}0 {2}/);
    }
  });
});

/** Has a card for callers that it knows. */
class Extended extends ScenarioAgent {
  override async extendedCard({ principal }: CardReader): Promise<AgentCardInit> {
    return { ...this.card, description: `for ${principal}` };
  }
}

suite("credentials", { timeout: 120_000 }, () => {
  const bed = cliBed({ tokens: { s3cret: "alice" } }, new Extended());

  test("go along as a flag, a variable or a header", async () => {
    const refused = await bed.run(["list"]);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /^throughline: UNAUTHENTICATED: .*; give a token: --token or THROUGHLINE_TOKEN\n$/);
    for (const args of [
      ["--token", "s3cret"],
      ["--header", "Authorization: Bearer s3cret"],
    ])
      assert.equal((await bed.run(["list", ...args])).code, 0);
    assert.equal((await bed.run(["list"], { env: { THROUGHLINE_TOKEN: "s3cret" } })).code, 0);
  });

  test("bring the extended card", async () => {
    assert.match((await bed.run(["card", "--extended", "--token", "s3cret"])).stdout, /^scenarios 1\nfor alice\n/);
  });
});

suite("TLS", { timeout: 120_000 }, () => {
  const bed = cliBed();

  test("trusts the authorities of --ca, and shows --cert", async () => {
    const folder = temporaryFolder("cli-tls");
    await using opened = new AsyncDisposableStack();
    opened.defer(() => removeFolder(folder));
    const { ca, cert, key } = makeCertificates(folder, "IP:127.0.0.1");
    const [trusted, shown, secret] = [ca, cert, key].map((file) => readFileSync(file));
    const server = createServer(
      { ca: trusted, cert: shown, key: secret, requestCert: true, rejectUnauthorized: true } as object,
      (from, to) => {
        const { port } = server.address() as AddressInfo;
        if (from.url === "/card.json") {
          const here = { url: `https://127.0.0.1:${port}`, protocolBinding: "JSONRPC", protocolVersion: "1.0" };
          to.end(JSON.stringify({ name: "secure", supportedInterfaces: [here] }));
          return;
        }
        const onward = request({ port: bed().server.ports.http, method: from.method, path: from.url, headers: from.headers }, (reply) =>
          reply.pipe(to.writeHead(reply.statusCode ?? 500, reply.headers)),
        );
        from.pipe(onward);
      },
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    opened.defer(async () => {
      server.closeAllConnections();
      await once(server.close(), "close");
    });
    const agent = ["--agent", `https://127.0.0.1:${(server.address() as AddressInfo).port}/card.json`];
    const calls = await bed.run(["list", ...agent, "--ca", ca, "--cert", cert, "--key", key]);
    assert.deepEqual(calls, { code: 0, stdout: "", stderr: "no tasks\n" });
    assert.equal((await bed.run(["list", ...agent, "--ca", ca])).code, 5);
    assert.equal((await bed.run(["list", ...agent, "--cert", cert, "--key", key])).code, 5);
  });
});
