/** Servers that answer what they were not asked, without end, or to come back in a thousand years. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient } from "../../src/client/a2a-client.ts";
import { type A2AError, StillRunningError, UnknownOutcomeError } from "../../src/client/a2a-error.ts";
import type { ClientOptionsInput } from "../../src/client/client-options.ts";
import { pause } from "../../src/client/pause.ts";
import { isTask } from "../../src/client/task-view.ts";
import { eventStream, RawServer, type Answer } from "../bindings/transport/raw-server.ts";

interface Answered extends AsyncDisposable {
  readonly client: A2AClient;
  /** What was asked for, in order. */
  readonly asked: readonly string[];
}

async function serverOf(answer: (target: string) => Answer, options: ClientOptionsInput = {}): Promise<Answered> {
  await using stack = new AsyncDisposableStack();
  const asked: string[] = [];
  const server = stack.use(
    await RawServer.open(({ target }) => {
      asked.push(target);
      return answer(target);
    }),
  );
  const supportedInterfaces = [{ url: server.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
  const reconnect = { baseMs: 1, maxMs: 5 };
  const client = stack.use(
    await A2AClient.connect({ supportedInterfaces, capabilities: { streaming: true } }, { reconnect, pollIntervalMs: 1, ...options }),
  );
  const kept = stack.move();
  return { client, asked, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const task = (id: string, state: string): object => ({ id, contextId: "c", status: { state: `TASK_STATE_${state}` } });
const events = (...frames: readonly object[]): Answer => eventStream(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`));
const json = (body: object): Answer => ({ body: JSON.stringify(body) });

suite("a server that asks to be left alone", () => {
  const AGES = ["100000", "999999999", "1000000000000", "Fri, 31 Dec 9999 23:59:59 GMT"];

  for (const age of AGES) {
    const busy = (): Answer => ({ status: 503, headers: { "retry-after": age }, body: "" });

    test(`for longer than its caller has patience is not called again: ${age}`, async () => {
      await using it = await serverOf(busy);
      const hasTold = (error: A2AError): boolean => error.reason === "UNAVAILABLE" && (error.retryAfterMs ?? 0) > 900_000;
      await assert.rejects(it.client.getTask("t"), hasTold);
      assert.equal(it.asked.length, 1);
      await assert.rejects(async () => it.client.send("hello"), UnknownOutcomeError);
      assert.equal(it.asked.length, 2);
      // GetTask has the last word.
      await assert.rejects(async () => it.client.follow("t"), hasTold);
      assert.equal(it.asked.length, 4);
    });

    test(`for that long while a task runs leaves it running: ${age}`, async () => {
      await using it = await serverOf((target) => (target === "/tasks/t" ? json(task("t", "WORKING")) : busy()));
      await assert.rejects(async () => it.client.follow("t"), StillRunningError);
      assert.equal(it.asked.length, 2);
    });
  }

  test("for less is called again after that", async () => {
    let asked = 0;
    const busy = { status: 503, headers: { "retry-after": "1" }, body: "" };
    await using it = await serverOf(() => ((asked += 1) === 1 ? busy : json(task("t", "COMPLETED"))));
    assert.equal((await it.client.getTask("t")).id, "t");
    await using other = await serverOf(() => busy, { patienceMs: 500 });
    await assert.rejects(other.client.getTask("t"), { reason: "UNAVAILABLE" });
    assert.equal(other.asked.length, 1);
  });
});

test("a server whose streams show a task as it was and end is asked less and less often", async () => {
  const told: number[] = [];
  let streams = 0;
  const stream = (): Answer => {
    streams += 1;
    const chunk = { artifactUpdate: { taskId: "t", contextId: "c", artifact: { artifactId: "a", parts: [{ text: "news" }] } } };
    if (streams === 5) return events({ task: task("t", "WORKING") }, chunk);
    return events({ task: task("t", streams < 8 ? "WORKING" : "COMPLETED") });
  };
  await using it = await serverOf(stream, { reconnecting: ({ losses }) => told.push(losses) });
  await it.client.follow("t");
  // The chunk is news, and so is the task without it.
  assert.deepEqual(told, [1, 2, 3, 4, 1, 1, 2]);
});

test("a pause longer than a timer takes is no short one", async () => {
  const ends = new AbortController();
  const paused = pause(2 ** 40, ends.signal);
  const first = await Promise.race([paused.then(() => "over"), pause(20, ends.signal).then(() => "not over")]);
  ends.abort(new Error("enough"));
  await assert.rejects(paused, /enough/);
  assert.equal(first, "not over");
});

suite("a server that tells of another task", () => {
  const isAnother = { code: 15, message: /another task, u, than of t/ };

  test("is not believed when one is read, canceled or followed", async () => {
    await using it = await serverOf((target) =>
      target.endsWith(":subscribe") ? events({ task: task("u", "COMPLETED") }) : json(task("u", "COMPLETED")),
    );
    await assert.rejects(it.client.getTask("t"), isAnother);
    await assert.rejects(it.client.cancelTask("t"), isAnother);
    await assert.rejects(async () => it.client.follow("t"), isAnother);
  });

  test("in the middle of a stream adds nothing to the one that is read: GetTask has the last word", async () => {
    const chunk = { artifactUpdate: { taskId: "u", contextId: "c", artifact: { artifactId: "a", parts: [{ text: "not yours" }] } } };
    const ended = { statusUpdate: { taskId: "u", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } };
    let state = "WORKING";
    await using it = await serverOf((target) =>
      target === "/message:stream" ? events({ task: task("t", "WORKING") }, chunk, ended) : json(task("t", state)),
    );
    await assert.rejects(async () => it.client.send("hello"), isAnother);
    state = "COMPLETED";
    const reply = await it.client.send("hello");
    assert.ok(isTask(reply));
    assert.deepEqual([reply.id, reply.status?.state, reply.artifacts], ["t", TaskState.COMPLETED, []]);
  });

  test("when a run comes back to it does not put it into the place of the first", async () => {
    let streams = 0;
    await using it = await serverOf((target) => {
      if (target === "/tasks/t") return json(task("t", "COMPLETED"));
      return events({ task: (streams += 1) === 1 ? task("t", "WORKING") : task("u", "COMPLETED") });
    });
    const reply = await it.client.send("hello");
    assert.ok(isTask(reply));
    assert.deepEqual([reply.id, streams], ["t", 2]);
  });
});

test("a list of webhooks without end is not read for ever", async () => {
  let page = 0;
  await using it = await serverOf(() =>
    json({ configs: [{ id: "one", taskId: "t", url: "https://a/" }], nextPageToken: `${(page += 1)}` }),
  );
  await assert.rejects(it.client.listPushConfigs("t"), /does not end after 1000 pages/);
});
