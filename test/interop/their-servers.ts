/** Our client on servers that are not ours. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, A2AError, type ClientBinding } from "../../src/client/index.ts";
import { resolveCard } from "../client/resolve-card.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { type Cell, type Column, COLUMNS, NotOffered } from "./columns.ts";
import type { Binding, ForeignServer } from "./foreign-kit.ts";
import type { RunningForeign } from "./foreign-process.ts";
import { judge } from "./judge.ts";
import { LONG_STREAM, LONG_TEXT } from "./their-clients.ts";

const TRIAL_MS = 60_000;
const WAITS = ["stream", "block", "poll"] as const;

const NAMES: Readonly<Record<Binding, ClientBinding>> = { grpc: "GRPC", rest: "HTTP+JSON", jsonrpc: "JSONRPC" };

/** Columns of this direction: what moves between replicas is another matter with each of them. */
export const SERVER_COLUMNS: readonly Column[] = COLUMNS.filter((column) => column !== "replica");

/** What a trial has. */
interface Means {
  readonly client: A2AClient;
  /** Between the client and the server; its connections can be cut. */
  readonly proxy: TcpProxy;
}

/** Tries each column over one binding. */
export async function tryServer(
  { remarks = [] }: ForeignServer,
  binding: Binding,
  { card }: RunningForeign,
): Promise<ReadonlyMap<Column, Cell>> {
  const cells = new Map<Column, Cell>();
  for (const column of SERVER_COLUMNS) {
    cells.set(column, await judge({ column, binding, remarks, run: () => tryColumn(column, NAMES[binding], card) }));
  }
  return cells;
}

async function tryColumn(column: Column, binding: ClientBinding, url: string): Promise<void> {
  const late = new AbortController();
  await using direct = await A2AClient.connect(url);
  const card = await direct.card();
  const address = card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === binding)?.url;
  if (address === undefined) throw new NotOffered("the card lists no such interface");
  await using proxy = await TcpProxy.open({ port: Number(/:(\d+)/.exec(address)?.[1]) });
  await using client = await A2AClient.connect(resolveCard(card, binding, proxy.port), {
    bindings: [binding],
    plaintext: true,
    reconnect: { baseMs: 10, maxMs: 500 },
    pollIntervalMs: 100,
  });
  const timeout = delay(TRIAL_MS, undefined, { signal: late.signal }).then(() => assert.fail(`no end after ${TRIAL_MS} ms`));
  timeout.catch(() => undefined);
  try {
    await Promise.race([TRIALS[column]({ client, proxy }), timeout]);
  } finally {
    late.abort();
  }
}

const TRIALS: Readonly<Record<Column, (means: Means) => Promise<void>>> = {
  send: async ({ client }) => {
    for (const wait of WAITS) is(await client.send("echo a few words", { wait }), TaskState.COMPLETED, "a few words");
  },
  ask: async ({ client }) => {
    for (const wait of WAITS) {
      const asked = is(await client.send("ask", { wait }), TaskState.INPUT_REQUIRED);
      assert.notEqual(asked.status?.message, undefined, "nothing was asked");
      const { id: taskId, contextId } = asked;
      const answered = is(await client.send("the answer", { taskId, contextId, wait }), TaskState.COMPLETED, "the answer");
      assert.equal(answered.id, taskId, `another task (${wait})`);
    }
  },
  fail: async ({ client }) => {
    const failed = is(await client.send("fail"), TaskState.FAILED);
    assert.notEqual(failed.status?.message, undefined, "nothing was said");
  },
  message: async ({ client }) => {
    const answer = await client.send("message as it is");
    assert.equal(answer.$typeName, "lf.a2a.v1.Message");
    assert.equal(textOf(answer.parts), "as it is");
  },
  stream: async ({ client }) => {
    const run = client.send("stream 5 20", { wait: "stream" });
    const pieces: string[] = [];
    for await (const piece of run.text()) pieces.push(piece);
    assert.deepEqual(pieces, ["c1 ", "c2 ", "c3 ", "c4 ", "c5 "]);
    is(await run, TaskState.COMPLETED, "c1 c2 c3 c4 c5 ");
  },
  resume: async ({ client, proxy }) => {
    const run = client.send(LONG_STREAM, { wait: "stream" });
    for await (const { task } of run) {
      if (textOf(task?.artifacts[0]?.parts).startsWith("c1 c2 ")) break;
    }
    const { accepted } = proxy;
    proxy.cut();
    is(await run, TaskState.COMPLETED, LONG_TEXT);
    assert.ok(proxy.accepted > accepted, "it did not come back");
  },
  replica: () => assert.fail("they have their own ways to do that"),
  cancel: async ({ client }) => {
    const run = client.send("slow");
    const canceled = await run.cancel();
    assert.equal(canceled.status?.state, TaskState.CANCELED);
    is(await run, TaskState.CANCELED);
  },
  list: async ({ client }) => {
    const { id, contextId } = is(await client.send("echo listed"), TaskState.COMPLETED, "listed");
    const { tasks } = await client.listTasks({ contextId });
    assert.deepEqual(
      tasks.map((task) => task.id),
      [id],
    );
  },
  push: async ({ client }) => {
    const { id: taskId } = is(await client.send("echo watched"), TaskState.COMPLETED, "watched");
    const created = await client.createPushConfig({ taskId, id: "hook", url: "https://example.com/hook" });
    const read = await client.getPushConfig(taskId, created.id);
    assert.deepEqual([read.taskId, read.id, read.url], [taskId, "hook", "https://example.com/hook"]);
    const listed = async (): Promise<string[]> => (await client.listPushConfigs(taskId)).map(({ id }) => id);
    assert.deepEqual(await listed(), ["hook"]);
    await client.deletePushConfig(taskId, "hook");
    assert.deepEqual(await listed(), []);
  },
  error: async ({ client }) => {
    const nobody = crypto.randomUUID();
    await refused("TASK_NOT_FOUND", client.getTask(nobody));
    await refused("TASK_NOT_FOUND", client.cancelTask(nobody));
    const { id } = is(await client.send("echo over"), TaskState.COMPLETED, "over");
    await refused("TASK_NOT_CANCELABLE", client.cancelTask(id));
    is(await client.follow(id), TaskState.COMPLETED, "over");
  },
};

async function refused(reason: string, call: Promise<unknown>): Promise<void> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof A2AError, `not refused with ${reason}: ${String(failure)}`);
  assert.equal(failure.reason, reason, failure.message);
}

function is(answer: Task | Message, state: TaskState, ...artifacts: readonly string[]): Task {
  assert.ok(answer.$typeName === "lf.a2a.v1.Task", "a message, and no task");
  const seen = [answer.status?.state, answer.artifacts.map(({ parts }) => textOf(parts))];
  assert.deepEqual(seen, [state, artifacts], answer.status?.message === undefined ? "" : textOf(answer.status.message.parts));
  return answer;
}

function textOf(parts: Message["parts"] | undefined): string {
  return (parts ?? []).map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}
