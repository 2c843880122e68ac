/** Transports against a server that is not ours: that of the official JavaScript SDK, over its three bindings. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { type ServerProcess, startServer } from "../../../bench/processes.ts";
import { JS } from "../../../bench/programs.ts";
import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { createGrpcTransport } from "../../../src/bindings/grpc/transport.ts";
import { createJsonRpcTransport } from "../../../src/bindings/json-rpc/transport.ts";
import { createRestTransport } from "../../../src/bindings/rest/transport.ts";
import type { ClosableTransport, TransportOptions } from "../../../src/bindings/transport.ts";
import { type A2AClient, client, factsOf, sendOf, taskFor, watch } from "./ways.ts";

const MAKES: Readonly<Record<"grpc" | "rest" | "jsonrpc", (options: TransportOptions) => ClosableTransport>> = {
  grpc: (options) => createGrpcTransport({ ...options, plaintext: true }),
  rest: createRestTransport,
  jsonrpc: createJsonRpcTransport,
};

suite("the official JavaScript server", { timeout: 120_000 }, () => {
  let server: ServerProcess;
  before(async () => (server = await startServer(JS)));
  after(() => server[Symbol.asyncDispose]());

  /** The same over each of its bindings. */
  function eachBinding(name: string, body: (caller: A2AClient) => Promise<void>): void {
    for (const [binding, make] of Object.entries(MAKES)) {
      test(`${name} (${binding})`, async () => {
        const url = server.urls[binding as keyof typeof MAKES] ?? assert.fail("no URL");
        using opened = client(make({ url, headers: { "a2a-version": "1.0" } }));
        await body(opened.client);
      });
    }
  }

  eachBinding("answers a send with the task", async (caller) => {
    const { payload } = await caller.sendMessage(sendOf("events=2"));
    assert.ok(payload.case === "task");
    assert.equal(payload.value.status?.state, TaskState.COMPLETED);
    assert.equal(payload.value.artifacts[0]?.parts.length, 2);
    assert.equal(payload.value.history[0]?.role, Role.USER);
  });

  eachBinding("streams", async (caller) => {
    const { frames, end } = await watch(caller.sendStreamingMessage(sendOf("events=2")));
    assert.deepEqual(
      [frames, end],
      [["task SUBMITTED", "status WORKING", "artifact bench", "artifact bench", "status COMPLETED"], "clean"],
    );
  });

  eachBinding("reads and lists tasks", async (caller) => {
    const id = await taskFor(caller, "events=1");
    const { contextId, history } = await caller.getTask({ id, historyLength: 1 });
    assert.equal(history.length, 1);
    const { tasks, totalSize } = await caller.listTasks({ contextId, pageSize: 10 });
    assert.deepEqual([tasks.map((task) => task.id), totalSize], [[id], 1]);
  });

  eachBinding("CL-19 lets a caller come back, and cancels", async (caller) => {
    const id = await taskFor(caller, "events=1 hold=100000");
    const stream = caller.subscribeToTask({ id })[Symbol.asyncIterator]();
    const { value } = await stream.next();
    assert.ok(value?.payload.case === "task");
    assert.equal(value.payload.value.id, id);
    assert.equal((await caller.cancelTask({ id })).status?.state, TaskState.CANCELED);
    const { frames, end } = await watch({ [Symbol.asyncIterator]: () => stream });
    assert.deepEqual([frames.at(-1), end], ["status CANCELED", "clean"]);
  });

  eachBinding("says what is wrong, in the words of A2A", async (caller) => {
    const { payload } = await caller.sendMessage(sendOf("events=0"));
    assert.ok(payload.case === "task");
    const { id } = payload.value;
    const done = await factsOf(caller.cancelTask({ id }));
    const missing = [
      factsOf(caller.getTask({ id: "nope" })),
      factsOf(caller.subscribeToTask({ id: "nope" })),
      factsOf(caller.cancelTask({ id: "nope" })),
    ];
    for (const { reason, code, domain } of await Promise.all(missing)) {
      assert.deepEqual([reason, code, domain], ["TASK_NOT_FOUND", Code.NotFound, "a2a-protocol.org"]);
    }
    assert.deepEqual([done.reason, done.code], ["TASK_NOT_CANCELABLE", Code.FailedPrecondition]);
    const push = await factsOf(caller.createTaskPushNotificationConfig({ taskId: id, url: "https://example.com/" }));
    assert.equal(push.reason, "PUSH_NOTIFICATION_NOT_SUPPORTED");
    const ended = await factsOf(caller.subscribeToTask({ id }));
    assert.equal(ended.reason, "UNSUPPORTED_OPERATION");
  });
});
