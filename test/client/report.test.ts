/**
 * The report that takes longer than a proxy lets a connection be silent: ninety seconds against sixty, here nine against six. However its
 * caller waits for it, it is made once and comes whole.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { after, before, suite, test, type TestContext } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding, ClientOptionsInput } from "../../src/client/client-options.ts";
import type { TaskRun } from "../../src/client/task-run.ts";
import { isTask } from "../../src/client/task-view.ts";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, completed, textPart } from "../../src/core/events.ts";
import { type RunningServer, serve } from "../../src/server/serve.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { BINDINGS } from "./client-bed.ts";
import { resolveCard } from "./resolve-card.ts";

/** A little less than nine polls take. */
const WORK_MS = 8600;
const PROXY_IDLE_MS = 6000;
const KEEPALIVE_MS = 1500;
const POLL_MS = 1000;
const POLLS = 9;
const CHAPTERS = ["one ", "two ", "three ", "four"];

/** Runs of the agent, by the message they were for. */
const runs = new Map<string, number>();
/** What the agent waits for before it says anything, by the same. */
const answered = new Map<string, Promise<void>>();

/** Begins, is silent for most of the time, and hands in the rest. */
const reporter: Agent = {
  card: { name: "reporter", description: "Reports.", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] },
  async *run({ message: { messageId }, signal }) {
    runs.set(messageId, (runs.get(messageId) ?? 0) + 1);
    const begun = performance.now();
    await answered.get(messageId);
    for (const [index, chapter] of CHAPTERS.entries()) {
      if (index === 1) await delay(WORK_MS - (performance.now() - begun), undefined, { signal });
      yield artifact({ artifactId: "report", parts: [textPart(chapter)] }, { append: index > 0, lastChunk: chapter === CHAPTERS.at(-1) });
    }
    yield completed("reported");
  },
};

/** A client behind the proxy, and one report. */
interface Desk extends AsyncDisposable {
  readonly client: A2AClient;
  readonly proxy: TcpProxy;
  readonly messageId: string;
  readonly contextId: string;
  /** Connections of runs that were lost. */
  readonly lost: number;
  order(): TaskRun;
}

function textIn(task: { artifacts: readonly { parts: readonly { content: { value?: unknown } }[] }[] }): unknown[] {
  return task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value));
}

suite("a report of nine seconds behind a proxy that cuts a connection after six of silence", { concurrency: true }, () => {
  let server: RunningServer;
  /** Calls, by the context that they say they are for. */
  const calls = new Map<string, number>();
  before(async () => {
    const authenticate = (headers: Headers): { name: string } => {
      const about = headers.get("x-about") ?? "";
      calls.set(about, (calls.get(about) ?? 0) + 1);
      return { name: "reader" };
    };
    server = await serve({
      agent: reporter,
      grpcPort: 0,
      httpPort: 0,
      opsPort: 0,
      drainDelayMs: 0,
      keepaliveMs: KEEPALIVE_MS,
      authenticate,
    });
  });
  after(() => server.drain({ atOnce: true }));

  const desk = async (binding: ClientBinding, options: ClientOptionsInput): Promise<Desk> => {
    const proxy = await TcpProxy.open({ port: binding === "GRPC" ? server.ports.grpc : server.ports.http });
    proxy.idle(PROXY_IDLE_MS);
    const [messageId, contextId] = [crypto.randomUUID(), crypto.randomUUID()];
    let lost = 0;
    const client = await A2AClient.connect(resolveCard(server.card, binding, proxy.port), {
      bindings: [binding],
      headers: { "x-about": contextId },
      reconnect: { baseMs: 20, maxMs: 200 },
      reconnecting: () => (lost += 1),
      ...options,
    });
    return {
      client,
      proxy,
      messageId,
      contextId,
      get lost() {
        return lost;
      },
      order: () => client.send({ messageId, contextId, parts: [{ content: { case: "text", value: "the report, please" } }] }),
      [Symbol.asyncDispose]: async () => {
        await client.close();
        await proxy[Symbol.asyncDispose]();
      },
    };
  };

  /** The report is whole, and was made once. */
  const isWhole = async (run: TaskRun, { client, messageId, contextId }: Desk): Promise<void> => {
    const task = await run;
    assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
    assert.deepEqual(textIn(task), CHAPTERS);
    const { tasks } = await client.listTasks({ contextId, includeArtifacts: true });
    assert.deepEqual(tasks.map(textIn), [CHAPTERS]);
    assert.equal(runs.get(messageId), 1);
  };

  for (const binding of BINDINGS) {
    test(`CL-13 CL-14 a send that blocks is cut; its task, its repeat and a list of its context find the report, over ${binding}`, async () => {
      await using it = await desk(binding, { wait: "block" });
      const run = it.order();
      await isWhole(run, it);
      // gRPC and Connect are kept alive by PINGs: to a proxy of connections they are not silent.
      assert.equal(it.lost, binding === "GRPC" || binding === "CONNECT" ? 0 : 1);
      await isWhole(it.order(), it);
    });

    test(`a send that streams is never cut, over ${binding}`, async () => {
      await using it = await desk(binding, { wait: "stream" });
      const run = it.order();
      const pieces: string[] = [];
      for await (const piece of run.text()) pieces.push(piece);
      assert.deepEqual(pieces, CHAPTERS);
      await isWhole(run, it);
      assert.deepEqual([it.lost, it.proxy.idled], [0, 0]);
    });

    test(`a send that streams outlives a restart of the proxy, no chunk lost or twice, over ${binding}`, async () => {
      await using it = await desk(binding, { wait: "stream", reconnect: { baseMs: 20, maxMs: 200, attempts: 1000 } });
      const run = it.order();
      const pieces: string[] = [];
      for await (const piece of run.text()) {
        pieces.push(piece);
        if (pieces.length > 1) continue;
        it.proxy.refuse();
        it.proxy.cut();
        setTimeout(() => void it.proxy.accept(), 1000);
      }
      assert.deepEqual(pieces, CHAPTERS);
      await isWhole(run, it);
      assert.ok(it.lost > 0);
    });

    test(`CL-21 CL-22 a send that returns immediately does so before the agent has said anything, and nine polls find the report, over ${binding}`, async (context: TestContext) => {
      await using it = await desk(binding, { wait: "poll", pollIntervalMs: POLL_MS });
      const { promise, resolve } = Promise.withResolvers<void>();
      answered.set(it.messageId, promise);
      // What is measured is the answer, not the connection.
      await it.client.listTasks({ pageSize: 1 });
      calls.delete(it.contextId);
      const begun = performance.now();
      const run = it.order();
      const events = run[Symbol.asyncIterator]();
      const first = await events.next();
      context.diagnostic(`answered after ${(performance.now() - begun).toFixed(1)} ms`);
      resolve();
      assert.equal(first.value?.task?.artifacts.length, 0);
      await run;
      const polls = (calls.get(it.contextId) ?? 0) - 1;
      context.diagnostic(`found by ${polls} polls`);
      assert.ok(polls <= POLLS, `${polls} polls`);
      await isWhole(run, it);
      assert.equal(it.lost, 0);
    });
  }
});
