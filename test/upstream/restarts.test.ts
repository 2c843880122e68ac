/** Upstreams whose process is killed and started again: one that keeps its work, and one that loses it. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { A2AClient } from "../../src/client/index.ts";
import { serve } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/upstream-agent.ts";
import type { UpstreamOptionsInput } from "../../src/upstream/upstream-options.ts";
import { QUICK } from "../e2e/server-process.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { freePort } from "../redis/free-port.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { type DurableUpstream, survives } from "./durable-upstream.ts";
import { Front, QUIET } from "./front-bed.ts";
import { asTask, begin, said, seen, stateName, texts } from "./tasks.ts";
import { UpstreamProcess } from "./upstream-process.ts";

suite("a front before an agent of our own that keeps its tasks in Redis", { concurrency: 2, timeout: 300_000 }, () => {
  survives(["GRPC", "HTTP+JSON"], async (): Promise<DurableUpstream> => {
    const { url, prefix } = await fileRedis();
    const [grpc, http] = [await freePort(), await freePort()];
    const options = { grpc_port: grpc, http_port: http, redis_url: url, redis_prefix: prefix, lease_ms: 500, renew_ms: 150, sweep_ms: 50 };
    const variables = Object.entries(options).map(([name, value]) => [`THROUGHLINE_${name.toUpperCase()}`, String(value)] as const);
    const process_ = await UpstreamProcess.start({
      file: process.execPath,
      args: ["src/cli/main.ts", "serve", "test/e2e/agents/ticking.ts", "--log", "silent"],
      env: { ...QUICK, ...Object.fromEntries(variables) },
      ready: /Try it/,
    });
    return {
      process: process_,
      url: `http://127.0.0.1:${http}/.well-known/agent-card.json`,
      ask: (count, ms) => `ticks ${count} ${ms}`,
      line: (index) => `${index} `,
      [Symbol.asyncDispose]: () => process_[Symbol.asyncDispose](),
    };
  });
});

suite("a front before an agent that keeps nothing, on @a2a-js/sdk", { concurrency: 2, timeout: 300_000 }, () => {
  /** The agent, and a front before it that finds it again wherever it is started. */
  async function open(options: UpstreamOptionsInput = {}) {
    await using stack = new AsyncDisposableStack();
    const args = ["test/interop/javascript/server.ts"];
    const upstream = stack.use(await UpstreamProcess.start({ file: process.execPath, args, ready: /^ready / }));
    const port = (): number => Number(/"grpc":"[^":]*:(\d+)"/.exec(upstream.line)?.[1]);
    const proxy = stack.use(await TcpProxy.open({ port: port() }));
    const agent = await upstreamAgent(`127.0.0.1:${proxy.port}`, {
      retryMs: 50,
      client: { reconnect: { baseMs: 20, maxMs: 100 } },
      ...options,
    });
    const server = await serve({ ...QUIET, agent });
    const front = stack.use(new Front(agent, server, await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`)));
    const restart = async (): Promise<void> => {
      await upstream.kill();
      await upstream.again();
      proxy.redirect({ port: port() });
    };
    const kept = stack.move();
    return { client: front.client, restart, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test("a task that is lost with its process fails, and says that the work may have run", async () => {
    await using bed = await open();
    const id = await begin(bed.client, "stream 50 50");
    await seen(bed.client, id, (task) => texts(task).length > 1);
    await bed.restart();
    const task = asTask(await bed.client.follow(id));
    assert.equal(stateName(task), "FAILED");
    assert.match(said(task), /does not know the task any more; the work may have run/);
  });

  test("a task that may run twice is begun again, and ends with what the second run produced, once", async () => {
    await using bed = await open({ lost: "rerun" });
    const id = await begin(bed.client, "stream 8 100");
    await seen(bed.client, id, (task) => texts(task).length > 1);
    await bed.restart();
    const task = asTask(await bed.client.follow(id));
    assert.equal(stateName(task), "COMPLETED");
    assert.equal(texts(task).join(""), "c1 c2 c3 c4 c5 c6 c7 c8 ");
  });

  test("questions, messages, failures and cancels are as they are without a front", async () => {
    await using bed = await open();
    const { client } = bed;
    const reply = await client.send("message hello");
    assert.ok(reply.$typeName === "lf.a2a.v1.Message");
    const asked = asTask(await client.send("ask"));
    assert.deepEqual([stateName(asked), said(asked)], ["INPUT_REQUIRED", "What shall it say?"]);
    assert.deepEqual(texts(asTask(await client.send("this", { taskId: asked.id }))), ["this"]);
    assert.equal(stateName(asTask(await client.send("fail"))), "FAILED");
    const slow = await begin(client, "slow");
    await seen(client, slow, (task) => stateName(task) === "WORKING");
    assert.equal(stateName(await client.cancelTask(slow)), "CANCELED");
  });
});
