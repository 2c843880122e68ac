/** The npm script's command line, as a suite's runner starts it: one line when it is ready, a drain when it is told to go. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { PROFILES } from "../../../examples/conformance-agent/profiles.ts";
import { CliProcess, ROOT } from "../../e2e/server-process.ts";
import { freePort } from "../../redis/free-port.ts";
import { fileRedis } from "../../redis/file-redis.ts";
import { bedAt, type SuiteBed, triggered } from "./suite/bed.ts";
import { framesOf, next, outline, readTask, reasonOf, taskIn } from "./suite/read.ts";

const FREE_PORTS = ["--http-port", "0", "--grpc-port", "0"];

/** `npm run conformance-agent -- …`, or another script, without npm. */
function start(args: readonly string[], script = "conformance-agent"): CliProcess {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
  const [, words = ""] = /^exec node (.+)$/.exec(scripts[script] ?? "") ?? [];
  return new CliProcess([...words.split(" "), ...args], {});
}

/** A process of the agent and the suite's clients for it. */
interface Running extends SuiteBed {
  readonly process: CliProcess;
}

function startReady(profile: string, more: readonly string[] = []): Promise<Running> {
  return ready(profile, start([...FREE_PORTS, "--profile", profile, ...more]));
}

async function ready(profile: string, process: CliProcess): Promise<Running> {
  await using parts = new AsyncDisposableStack();
  parts.use(process);
  await process.until(({ stdout }) => stdout.includes("\n"));
  const [, http] = new RegExp(
    `^conformance-agent ${profile} is ready: http://127\\.0\\.0\\.1:(\\d+) and gRPC at 127\\.0\\.0\\.1:\\d+\n$`,
  ).exec(process.stdout) ?? [undefined, assert.fail(process.stdout)];
  return { ...(await bedAt(Number(http), parts)), process };
}

suite("npm run conformance-agent", { concurrency: 3, timeout: 120_000 }, () => {
  for (const profile of Object.keys(PROFILES)) {
    test(`--profile ${profile} serves it over each transport, and goes with exit code 0 when it is told to`, async () => {
      await using running = await startReady(profile);
      for (const client of running.clients) {
        const call = client.send(triggered("tck-complete-task", client));
        if (profile === "extreq") assert.equal(await reasonOf(call), "EXTENSION_SUPPORT_REQUIRED");
        else if (profile === "itk") assert.equal(taskIn(await call).says, "there is no instruction in the message");
        else assert.equal(taskIn(await call).state, "COMPLETED");
      }
      running.process.signal(profile === "full" ? "SIGINT" : "SIGTERM");
      assert.deepEqual(await running.process.exited, { code: 0, signal: null });
      assert.equal(running.process.stderr, "");
    });
  }

  test("npm run itk-agent serves the profile for the traversal suite, which spells its flags in its own way", async () => {
    await using running = await ready("itk", start(["--httpPort", "0", "--grpcPort", "0"], "itk-agent"));
    // What the suite waits for before it begins.
    const { url } = (running.card["supportedInterfaces"] as { url: string }[]).at(-1) ?? { url: "" };
    assert.match(url, /\/jsonrpc$/);
    assert.deepEqual(await (await fetch(`${url}/.well-known/agent-card.json`)).json(), running.card);
  });

  test("takes webhooks on this machine, also where nobody listens, unless it is told not to", async () => {
    const config = { taskPushNotificationConfig: { url: `http://localhost:${await freePort()}/webhook` } };
    for (const [flags, expected] of [
      [[], undefined],
      [["--no-webhook-allow-list"], "INVALID_ARGUMENT"],
    ] as const) {
      await using running = await startReady("full", flags);
      for (const client of running.clients) {
        const call = client.send(triggered("tck-complete-task", client), config);
        if (expected === undefined) assert.equal(taskIn(await call).state, "COMPLETED");
        else assert.equal(await reasonOf(call), expected);
      }
      running.process.signal("SIGTERM");
      assert.deepEqual(await running.process.exited, { code: 0, signal: null });
    }
  });

  test("two with one --redis share their tasks: questions, streams and cancels go to either", async () => {
    const { url } = await fileRedis();
    await using home = await startReady("full", ["--redis", url]);
    await using away = await startReady("full", ["--redis", url]);
    for (const [at, client] of home.clients.entries()) {
      const other = away.clients[at] as (typeof away.clients)[number];
      const { id: taskId } = taskIn(await client.send(triggered("tck-input-required", client)));
      const watched = other.subscribe(taskId);
      assert.equal(readTask((await next(watched))["task"] as JsonValue).state, "INPUT_REQUIRED");
      assert.equal(taskIn(await other.send(triggered("tck-complete-task", client, { taskId }))).says, "Hello from TCK");
      assert.deepEqual(outline(await framesOf(watched)), ["status WORKING", "status COMPLETED"]);
      assert.equal(readTask(await client.getTask(taskId)).state, "COMPLETED");

      const stream = client.stream(triggered("test-resubscribe-message-id", client));
      const { id } = readTask((await next(stream))["task"] as JsonValue);
      assert.equal(readTask(await other.cancelTask(id)).state, "CANCELED");
      assert.equal(outline(await framesOf(stream)).at(-1), "status CANCELED");
    }
  });

  test("a turn under way at the signal ends first", async () => {
    await using running = await startReady("bench");
    const [client] = running.clients;
    const contextId = "of-the-turn";
    const sent = client.send(triggered("bench", client, { contextId, parts: [{ text: "events=0 hold=1000" }] }));
    const begun = async (): Promise<boolean> => {
      const tasks = ((await client.listTasks({ contextId }))["tasks"] ?? []) as JsonObject[];
      return tasks.some((task) => readTask(task).state !== "SUBMITTED");
    };
    while (!(await begun()));
    running.process.signal("SIGTERM");
    assert.equal(taskIn(await sent).state, "COMPLETED");
    assert.deepEqual(await running.process.exited, { code: 0, signal: null });
  });

  test("what it cannot do is refused with a sentence, the usage, and exit code 2", async () => {
    for (const [args, expected] of [
      [["--profile", "none"], "--profile: there is no none"],
      [["--http-port", "many"], "httpPort: "],
      [["--redis", "none"], "redis.url"],
      [["--json-content-type", "text/html"], "jsonContentType: "],
      [["--colour", "red"], "Unknown option '--colour'"],
      [["full"], "Unexpected argument 'full'"],
    ] as const) {
      await using refused = start([...FREE_PORTS, ...args]);
      const { code } = await refused.exited;
      assert.equal(code, 2, refused.stderr);
      assert.ok(refused.stderr.startsWith(`conformance-agent: ${expected}`), refused.stderr);
      assert.match(refused.stderr, /\nusage: conformance-agent /);
      assert.equal(refused.stdout, "");
    }
  });
});
