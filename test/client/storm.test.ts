/** Many sends through proxies that cut all the time: each ends with its exact task. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { Role, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { ClientBinding } from "../../src/client/client-options.ts";
import { isTask } from "../../src/client/task-view.ts";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, completed, textPart } from "../../src/core/events.ts";
import { serve } from "../../src/server/serve.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { BINDINGS } from "./client-bed.ts";
import { resolveCard } from "./resolve-card.ts";

const SENDS_EACH = 25;
const CHUNKS = 30;
const EVENTS_PER_CUT = 60;

/** Counts, a chunk every few milliseconds. */
const counting: Agent = {
  card: { name: "counting", description: "Counts.", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] },
  async *run({ signal }) {
    for (let count = 0; count < CHUNKS && !signal.aborted; count += 1) {
      yield artifact({ artifactId: "count", parts: [textPart(`${count} `)] }, { append: count > 0, lastChunk: count === CHUNKS - 1 });
      await delay(3);
    }
    yield completed("counted");
  },
};
const WHOLE = Array.from({ length: CHUNKS }, (_, count) => `${count} `);

interface Passage extends AsyncDisposable {
  readonly client: A2AClient;
  /** One before each replica. */
  readonly proxies: readonly TcpProxy[];
}

test("CL-09 CL-13 every send ends with its exact task, no part missing or twice, through many cuts and over two replicas", async () => {
  const redis = await fileRedis();
  const open = { agent: counting, redis, grpcPort: 0, httpPort: 0, opsPort: 0, drainDelayMs: 0 };
  await using first = await serve({ ...open, replica: "first" });
  await using second = await serve({ ...open, replica: "second" });

  /** A client that knows both replicas: where it cannot reach one, it goes to the other. */
  const passage = async (binding: ClientBinding): Promise<Passage> => {
    await using opened = new AsyncDisposableStack();
    const proxies = await Promise.all(
      [first, second].map(async ({ ports }) => opened.use(await TcpProxy.open({ port: binding === "GRPC" ? ports.grpc : ports.http }))),
    );
    const [card, other] = [first, second].map((server, at) => resolveCard(server.card, binding, proxies[at]?.port ?? 0));
    assert.ok(card !== undefined && other !== undefined);
    card.supportedInterfaces = [...card.supportedInterfaces, ...other.supportedInterfaces];
    const client = await A2AClient.connect(card, { bindings: [binding], reconnect: { baseMs: 5, maxMs: 100, attempts: 50 }, attempts: 50 });
    opened.defer(() => client.close());
    const stack = opened.move();
    return { client, proxies, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  };
  await using all = new AsyncDisposableStack();
  const passages = await Promise.all(BINDINGS.map(async (binding) => all.use(await passage(binding))));

  let cuts = 0;
  /** After so many events of all its runs the connections of a client are cut: what is cut by the clock may never get on. */
  const storms = new Map(passages.map(({ client }) => [client, EVENTS_PER_CUT]));
  const heard = ({ client, proxies }: Passage): void => {
    const left = (storms.get(client) ?? 0) - 1;
    storms.set(client, left > 0 ? left : EVENTS_PER_CUT);
    if (left > 0) return;
    for (const proxy of proxies) proxy.cut();
    cuts += 1;
  };
  const sending = async (through: Passage, at: number): Promise<void> => {
    const { client } = through;
    const run = client.send(`count ${at}`);
    const pieces: string[] = [];
    if (at % 2 === 0) {
      for await (const piece of run.text()) {
        pieces.push(piece);
        heard(through);
      }
    } else for await (const _ of run) heard(through);
    const task = await run;
    assert.ok(isTask(task));
    assert.equal(task.status?.state, TaskState.COMPLETED);
    assert.deepEqual(
      task.artifacts[0]?.parts.map(({ content }) => content.value),
      WHOLE,
    );
    if (at % 2 === 0) assert.deepEqual(pieces, WHOLE);
    assert.equal(run.incomplete.size, 0);
    assert.ok(equals(TaskSchema, theirs(task), theirs(await client.getTask(task.id))));
  };
  await Promise.all(passages.flatMap((one) => Array.from({ length: SENDS_EACH }, (_, at) => sending(one, at))));
  assert.ok(cuts >= 40, `${cuts} cuts`);
  const [{ client }] = passages as [Passage];
  assert.equal((await client.listTasks({ pageSize: 1 })).totalSize, SENDS_EACH * BINDINGS.length, "no send began two tasks");
});

/** Callers' messages come back in GetTask; what a stream's reader has of them is its own affair. */
function theirs(task: Task): Task {
  return { ...task, history: task.history.filter(({ role }) => role === Role.AGENT) };
}
