/** The planner and the test-runner as services of two replicas each, all processes of their own on one Redis. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { suite, test } from "node:test";
import { create, toJsonString } from "@bufbuild/protobuf";
import { AgentCardSchema, AgentInterfaceSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/index.ts";
import { QUICK, type ServerProcess, startServer } from "../e2e/server-process.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { content, saidBy, stateName } from "../worker/bed.ts";
import { CallIn, Sandbox } from "./fixture.ts";

type Env = Readonly<Record<string, string>>;

/** A takeover does not take long. */
const LEASES = ["--lease-ms", "1500", "--renew-ms", "300", "--sweep-ms", "100"];

/** Two replicas of a service. */
async function service(parts: AsyncDisposableStack, agent: string, env: Env): Promise<readonly [ServerProcess, ServerProcess]> {
  const { url, prefix } = await fileRedis();
  const args = [agent, "--log", "warn", "--redis-url", url, "--redis-prefix", prefix, ...LEASES];
  const start = async (): Promise<ServerProcess> => parts.use(await startServer(args, { ...QUICK, ...env }));
  return [await start(), await start()];
}

function clientOf({ ports }: ServerProcess): Promise<A2AClient> {
  return A2AClient.connect(`http://127.0.0.1:${ports.http}`);
}

/** A card that leads to either replica, and where it is. */
async function cardOf(parts: AsyncDisposableStack, replicas: readonly ServerProcess[]): Promise<string> {
  await using client = await clientOf(replicas[0] as ServerProcess);
  const supportedInterfaces = replicas.map(({ ports }) =>
    create(AgentInterfaceSchema, { protocolBinding: "GRPC", protocolVersion: "1.0", url: `127.0.0.1:${ports.grpc}` }),
  );
  const text = toJsonString(AgentCardSchema, { ...(await client.card()), supportedInterfaces });
  const server = createServer((_, reply) => reply.setHeader("content-type", "application/json").end(text));
  await once(server.listen(0, "127.0.0.1"), "listening");
  parts.defer(async () => {
    server.closeAllConnections();
    await once(server.close(), "close");
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/card.json`;
}

/** Resolves when nobody listens there any more. */
async function closed(port: number): Promise<void> {
  for (let open = true; open;) {
    const socket = connect(port, "127.0.0.1");
    open = await new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
  }
}

suite("the planner as a service", { timeout: 240_000 }, () => {
  test("loses a replica in mid-work, and the runner one too: the tests run once, and are reported", async () => {
    using sandbox = new Sandbox();
    using calls = new CallIn(sandbox);
    const go = join(sandbox.path, "go");
    const more = `while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
      console.log("ℹ pass 3");\nprocess.exit();`;
    const directory = sandbox.project("node test.mjs", {
      "test.mjs": `import { existsSync } from "node:fs";\n${calls.script("test", more)}`,
    });
    await using parts = new AsyncDisposableStack();
    // What a replica of the runner has begun it ends, however long it is told to go.
    const runners = await service(parts, "examples/test-runner/agent.ts", {
      THROUGHLINE_TEST_RUNNER_PROJECTS: `shop=${directory}`,
      THROUGHLINE_DRAIN_MS: "200000",
    });
    const [doomed, other] = await service(parts, "examples/planner/agent.ts", {
      THROUGHLINE_PLANNER_RUNNER: await cardOf(parts, runners),
    });

    const caller = parts.use(await clientOf(doomed));
    const sent = caller.send("test the shop and report", { wait: "poll" });
    for await (const { task } of sent) if (task !== undefined) break;
    const taskId = sent.task?.id ?? "";
    await sent.close();
    await calls.caller("test");
    const watcher = parts.use(await clientOf(other));
    const watched = watcher.follow(taskId);
    for await (const { task } of watched) if (task !== undefined && saidBy(task) === "running shop: node test.mjs") break;
    doomed.process.signal("SIGKILL");
    await doomed.process.exited;

    // The planner's other replica has taken over when it says again what the runner says.
    const again = watcher.follow(taskId);
    let told = 0;
    for await (const { task } of again) {
      told = task?.history.filter((message) => message.parts[0]?.content.value === "running shop: node test.mjs").length ?? 0;
      if (told > 0) break;
    }
    const [draining, staying] = runners;
    draining.process.signal("SIGTERM");
    // By then it has ended its streams.
    await closed(draining.ports.grpc);
    writeFileSync(go, "");
    const done = await watcher.follow(taskId);
    assert.ok(done.$typeName === "lf.a2a.v1.Task");
    assert.equal(stateName(done), "COMPLETED");
    assert.match(content(done, "report"), /^# shop: 3 passed, 0 failed in /);
    const { tasks } = await parts.use(await clientOf(staying)).listTasks();
    assert.deepEqual(tasks.map(stateName), ["COMPLETED"]);
  });
});
