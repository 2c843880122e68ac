/** The command as operators meet it: what it says, when it goes, and how. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, nextFrame, send } from "../bindings/bed.ts";
import type { Caller, Stream } from "../bindings/callers/caller.ts";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { HttpClient } from "../bindings/callers/http.ts";
import { JsonRpcCaller } from "../bindings/callers/json-rpc.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { session } from "../readme/session.ts";
import { CliProcess, cli, QUICK, ROOT, runCli, type ServerProcess, startServer } from "./server-process.ts";

const WAITING = "test/e2e/agents/waiting.ts";

suite("throughline serve", { concurrency: 4, timeout: 120_000 }, () => {
  test("says where everything is, and lines to try that a shell takes as they are", async () => {
    await using server = await startServer([WAITING, "--rest-prefix", "/api/v1"]);
    const { stdout } = server.process;
    const { grpc, http, ops } = server.ports;
    assert.match(stdout, new RegExp(`^waiting is served\n\n  gRPC        127\\.0\\.0\\.1:${grpc}\n`));
    assert.ok(stdout.includes(`  HTTP+JSON   http://127.0.0.1:${http}/api/v1\n`));
    assert.ok(stdout.includes(`  operations  http://127.0.0.1:${ops}/readyz\n`));
    const lines = stdout.split("\n").filter((line) => /^ {2}(node|curl) /.test(line));
    assert.equal(lines.length, 3);
    const [started = ""] = await session([`${lines[0]} --detach`]);
    assert.match(started, /^task {5}[0-9a-f-]{36}\n/);
    const bodies = lines.slice(1).map((line) => / -d '(.*)'$/.exec(line)?.[1]?.replaceAll("'\\''", "'") ?? "");
    const [rest, rpc] = bodies.map((body) => JSON.parse(body) as JsonObject);
    const client = new HttpClient(http);
    const headers = [
      ["a2a-version", "1.0"],
      ["content-type", "application/json"],
    ] as const;
    for (const [target, body] of [
      ["/api/v1/message:stream", rest],
      ["/jsonrpc", rpc],
    ] as const) {
      const response = await client.open({ method: "POST", target, headers, body: JSON.stringify(body) });
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers["content-type"], "text/event-stream");
      response.destroy();
    }
    client.close();
  });

  test("takes options from a file, the environment and flags, the later before the earlier", async () => {
    const env = { ...QUICK, THROUGHLINE_REST_PREFIX: "/environment", THROUGHLINE_PUBLIC_GRPC_URL: "grpc.example:443" };
    await using server = await startServer([WAITING, "--rest-prefix", "/flag", "--public-http-url", "https://agent.example"], env);
    const client = new HttpClient(server.ports.http);
    const { text } = await client.fetch({ method: "GET", target: "/.well-known/agent-card.json" });
    client.close();
    const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { url: string }[] };
    assert.deepEqual(
      supportedInterfaces.map(({ url }) => url),
      ["grpc.example:443", "https://agent.example/flag", "https://agent.example/jsonrpc"],
    );
  });

  test("refuses what it cannot do with one sentence that names the option, and exit code 2", async () => {
    const refusals: readonly (readonly [args: string[], env: Record<string, string>, expected: RegExp])[] = [
      [[WAITING, "--http-port", "many"], {}, /^throughline: --http-port \(httpPort: .*\)\n$/],
      [[WAITING], { THROUGHLINE_DRAIN_MS: "-1" }, /^throughline: THROUGHLINE_DRAIN_MS \(drainMs: .*\)\n$/],
      [[WAITING, "--config", "/no/such/file"], {}, /^throughline: --config: cannot read \/no\/such\/file\n$/],
      [[WAITING, "--host", "203.0.113.7"], {}, /^throughline: host: 203\.0\.113\.7 is no address of this machine \(set it with --host or/],
      [["no/such/agent.ts"], {}, /^throughline: <agent>: there is no file no\/such\/agent\.ts\n$/],
      [["test/e2e/agents/broken.ts"], {}, /^throughline: <agent>: cannot load test\/e2e\/agents\/broken\.ts: out of ink\n$/],
      [["test/e2e/agents/no-agent.ts"], {}, /^throughline: <agent>: the default export of .* is no agent: it needs card and run\n$/],
    ];
    const outcomes = await Promise.all(refusals.map(([args, env]) => runCli(["serve", ...args], { ...QUICK, ...env })));
    for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
      assert.match(stderr, refusals[index]?.[2] ?? /^$/);
      assert.deepEqual([code, stdout], [2, ""]);
    }
  });

  test("refuses an option that there is not, and shows those that there are", async () => {
    const [unknown, missing, command] = await Promise.all([
      runCli(["serve", WAITING, "--no-such-option"]),
      runCli(["serve"]),
      runCli(["dance"]),
    ]);
    assert.match(unknown.stderr, /^error: unknown option '--no-such-option'\n/);
    assert.match(missing.stderr, /^throughline: name the agent to serve: the path of its module, or --upstream\n/);
    assert.match(command.stderr, /^error: unknown command 'dance'\n/);
    for (const { code } of [unknown, missing, command]) assert.equal(code, 2);
    const { stdout } = await runCli(["serve", "--help"]);
    assert.match(stdout, /--http-port <value>/);
    assert.match(stdout, /\[THROUGHLINE_HTTP_PORT, default\s+8080\]/);
  });

  for (const option of ["grpc-port", "http-port", "ops-port"]) {
    test(`says that the port of --${option} is in use already, and holds none of the others`, async () => {
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
      const { port } = taken.address() as { port: number };
      const { code, stderr } = await runCli(["serve", WAITING, `--${option}`, String(port)]);
      taken.close();
      assert.match(
        stderr,
        new RegExp(`^throughline: \\w+Port: 127\\.0\\.0\\.1:${port} is in use already \\(set it with --${option} or THROUGHLINE_`),
      );
      assert.equal(code, 2);
    });
  }

  test("on an older Node says which one is needed", async () => {
    const older = `data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { node: '20.1.0' } })")}`;
    const process = new CliProcess(["--import", older, join(ROOT, "bin/throughline.js")], {});
    assert.deepEqual(await process.exited, { code: 1, signal: null });
    assert.equal(process.stderr, "throughline: Node 24 needed, this is 20.1.0\n");
  });
});

suite("SIGTERM", { concurrency: 2, timeout: 120_000 }, () => {
  test("ends streams so that their readers come back, and the process with exit code 0", async () => {
    await using server = await startServer([WAITING]);
    const streams = await openStreams(server);
    server.process.signal("SIGTERM");
    await checkDrained(streams);
    assert.deepEqual(await server.process.exited, { code: 0, signal: null });
    for (const { caller } of streams) caller.close();
  });

  test("makes the server unready first and goes on serving; a second signal skips the waiting", async () => {
    await using server = await startServer([WAITING], { ...QUICK, THROUGHLINE_DRAIN_DELAY_MS: "600000", THROUGHLINE_DRAIN_MS: "600000" });
    const ops = new HttpClient(server.ports.ops);
    const health = async (target: string): Promise<number> => (await ops.fetch({ method: "GET", target })).status;
    assert.deepEqual([await health("/livez"), await health("/readyz"), await health("/nothing")], [200, 200, 404]);
    const streams = await openStreams(server);
    server.process.signal("SIGTERM");
    await server.process.until(({ stderr }) => stderr.includes('"draining;'));
    assert.deepEqual([await health("/livez"), await health("/readyz")], [200, 503]);
    for (const { caller, id } of streams) {
      assert.equal((await caller.unary("GetTask", { id })).message["id"], id);
      const other = caller.stream("SendStreamingMessage", send("wait"));
      assert.equal(brief(await nextFrame(other)), "task SUBMITTED");
      other.leave();
    }
    server.process.signal("SIGTERM");
    await checkDrained(streams);
    assert.deepEqual(await server.process.exited, { code: 0, signal: null });
    for (const { caller } of streams) caller.close();
    ops.close();
  });

  test("before anything was sent ends the process at once", async () => {
    await using server = await startServer([WAITING]);
    server.process.signal("SIGTERM");
    assert.deepEqual(await server.process.exited, { code: 0, signal: null });
  });

  test("to a server that has not said yet where it listens ends it too", async () => {
    await using server = cli(["serve", WAITING]);
    server.signal("SIGTERM");
    const { code, signal } = await server.exited;
    assert.ok(code === 0 || signal === "SIGTERM");
  });

  // The kernel ends no first process of a container that did not ask for the signal: it has to end by itself.
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    test(`ends the process by itself while it still starts: ${name}`, async () => {
      await using server = cli(["serve", "test/e2e/agents/never-loaded.ts"]);
      await server.until(({ stderr }) => stderr.includes("loading"));
      server.signal(name);
      assert.deepEqual(await server.exited, { code: 0, signal: null });
    });
  }
});

interface Open {
  readonly caller: Caller;
  readonly stream: Stream;
  readonly id: string;
}

/** A stream on a task that works, on each binding. */
function openStreams({ ports }: ServerProcess): Promise<Open[]> {
  const callers = [new GrpcCaller(ports.grpc), new RestCaller(ports.http), new JsonRpcCaller(ports.http)];
  return Promise.all(
    callers.map(async (caller) => {
      const stream = caller.stream("SendStreamingMessage", send("wait"));
      const { task } = (await nextFrame(stream)) as { task: { id: string } };
      assert.equal(brief(await nextFrame(stream)), "status WORKING");
      return { caller, stream, id: task.id };
    }),
  );
}

/** Each stream has ended in its binding's way, and none of it says anything about the task. */
async function checkDrained(streams: readonly Open[]): Promise<void> {
  for (const { caller, stream, id } of streams) {
    const { frames, end } = await collect(stream);
    assert.deepEqual(frames, []);
    if (caller.binding !== "grpc") assert.equal(end, "clean");
    else if (end === "clean") assert.fail("a gRPC stream ended as if its task had");
    else assert.deepEqual([end.code, end.reason, end.metadata], [14, "STREAM_DRAINED", { taskId: id }]);
  }
}
