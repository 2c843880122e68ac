/** Servers that are not ours and whose streams leave something out. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import type { A2AError } from "../../src/client/a2a-error.ts";
import { isTask } from "../../src/client/task-view.ts";
import { eventStream, RawServer } from "../bindings/transport/raw-server.ts";

const NAMES = { taskId: "t", contextId: "c" };
const PART = (text: string): object => ({ parts: [{ text }] });
const WHOLE = {
  id: "t",
  contextId: "c",
  status: { state: "TASK_STATE_COMPLETED" },
  artifacts: [
    { artifactId: "before", ...PART("asked") },
    { artifactId: "answer", parts: [{ text: "begun " }, { text: "done" }] },
  ],
};
const WAITING = { ...WHOLE, status: { state: "TASK_STATE_INPUT_REQUIRED" }, artifacts: [] };
const NOT_FOUND = {
  error: {
    code: 404,
    status: "NOT_FOUND",
    message: "no such task",
    details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }],
  },
};
const INTERNAL = { error: { code: 500, status: "INTERNAL", message: "the agent raised" } };
const COMPLETED = { statusUpdate: { ...NAMES, status: { state: "TASK_STATE_COMPLETED" } } };
const CHUNK = { artifactUpdate: { ...NAMES, append: true, artifact: { artifactId: "answer", ...PART("done") } } };

/** A server whose streams are these frames, and which subscribes nobody; `read` is what GetTask answers, if it knows the task. */
async function serverOf(
  frames: readonly object[],
  read: () => object | undefined = () => WHOLE,
): Promise<{ readonly client: A2AClient } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await RawServer.open(({ target }) => {
      if (target === "/message:stream") return eventStream(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`));
      if (target === "/message:send") return { body: JSON.stringify({ task: WAITING }) };
      const task = target.startsWith("/tasks/t:") ? undefined : read();
      return task === undefined ? { status: 404, body: JSON.stringify(NOT_FOUND) } : { body: JSON.stringify(task) };
    }),
  );
  const client = stack.use(
    await A2AClient.connect(
      {
        supportedInterfaces: [{ url: server.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
        capabilities: { streaming: true },
      },
      { pollIntervalMs: 5 },
    ),
  );
  const kept = stack.move();
  return { client, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function textsOf(client: A2AClient): Promise<string[]> {
  const run = client.send("go on", { taskId: "t", contextId: "c" });
  const task = await run;
  assert.ok(isTask(task));
  assert.deepEqual([task.id, task.status?.state], ["t", TaskState.COMPLETED]);
  return task.artifacts.map(({ parts }) => parts.map(({ content }) => (content.case === "text" ? content.value : "")).join(""));
}

suite("a stream of another server", () => {
  test("that never tells the task is completed by GetTask", async () => {
    await using it = await serverOf([CHUNK, COMPLETED]);
    assert.deepEqual(await textsOf(it.client), ["asked", "begun done"]);
  });

  test("that adds to an artifact without its beginning is completed by GetTask", async () => {
    await using it = await serverOf([{ task: WAITING }, CHUNK, COMPLETED]);
    assert.deepEqual(await textsOf(it.client), ["asked", "begun done"]);
  });

  test("that ends with an error of the agent has GetTask tell how the task has ended, and fails where it has not", async () => {
    const failed = { ...WHOLE, status: { state: "TASK_STATE_FAILED" } };
    const frames = [{ task: { ...WAITING, status: { state: "TASK_STATE_WORKING" } } }, INTERNAL];
    await using it = await serverOf(frames, () => failed);
    const task = await it.client.send("raise");
    assert.ok(isTask(task));
    assert.equal(task.status?.state, TaskState.FAILED);
    for (const read of [() => WAITING, () => undefined]) {
      await using other = await serverOf(frames, read);
      await assert.rejects(
        async () => other.client.send("raise"),
        (error: A2AError) => error.reason === "INTERNAL" && error.message === "the agent raised",
      );
    }
  });

  test("is all there is where the server has forgotten the task, and says what may be missing", async () => {
    await using it = await serverOf([CHUNK, COMPLETED], () => undefined);
    const run = it.client.send("go on", { taskId: "t", contextId: "c" });
    const task = await run;
    assert.ok(isTask(task));
    assert.deepEqual([task.status?.state, [...run.incomplete]], [TaskState.COMPLETED, ["answer"]]);
  });

  test("C-38 that begins with the task as it stood before is read on to what came of the message", async () => {
    const answer = { artifactUpdate: { ...NAMES, artifact: { artifactId: "answer", ...PART("done") } } };
    await using it = await serverOf([{ task: WAITING }, answer, COMPLETED]);
    assert.deepEqual(await textsOf(it.client), ["done"]);
  });

  test("that ends with the task as it stands leaves it to its caller", async () => {
    await using it = await serverOf([{ task: WAITING }]);
    const task = await it.client.send("go on", { taskId: "t", contextId: "c" });
    assert.ok(isTask(task) && task.status?.state === TaskState.INPUT_REQUIRED);
  });
});

suite("a server that answers a follow-up with the task as it stood before", () => {
  /** GetTask shows the task waiting twice, then completed. */
  async function slowServer(): Promise<{ readonly client: A2AClient } & AsyncDisposable> {
    let reads = 0;
    return serverOf([], () => {
      reads += 1;
      return reads < 3 ? WAITING : WHOLE;
    });
  }

  test("C-38 is polled until something has come of the message", async () => {
    await using it = await slowServer();
    const task = await it.client.send("go on", { taskId: "t", contextId: "c", wait: "poll" });
    assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
  });
});

suite("a server that knows nothing of the streams of a task that has ended", () => {
  test("CL-11 is asked for the task before its outcome is said to be unknown", async () => {
    await using it = await serverOf([]);
    const task = await it.client.follow("t");
    assert.ok(isTask(task) && task.status?.state === TaskState.COMPLETED);
  });
});
