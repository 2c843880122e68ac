/** What the conformance kit asks of the framework around its executor: contexts, follow-ups, histories, subscriptions, versions. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import type { SuiteClient } from "./suite/client.ts";
import { framesOf, next, outline, readTask, reasonOf, taskIn } from "./suite/read.ts";

suite("the framework around the conformance kit's executor", { timeout: 120_000 }, () => {
  let bed: SuiteBed;
  before(async () => {
    bed = await serveProfile("full");
  });
  after(() => bed[Symbol.asyncDispose]());

  /** The same over every transport. */
  function everyTransport(name: string, body: (client: SuiteClient) => Promise<void>): void {
    test(name, async () => {
      for (const client of bed.clients) {
        await body(client).catch((error: unknown) => {
          throw new Error(`over ${client.transport}: ${(error as Error).message}`, { cause: error });
        });
      }
    });
  }

  const ask = async (client: SuiteClient, more: JsonObject = {}): Promise<{ id: string; contextId: string }> =>
    taskIn(await client.send(triggered("tck-input-required", client, more)));

  everyTransport("R-145 R-146 R-147 a context is made and told where there is none, and kept where there is one", async (client) => {
    const { contextId } = await ask(client);
    assert.notEqual(contextId, "");
    assert.equal((await ask(client, { contextId })).contextId, contextId);
    assert.equal((await ask(client, { contextId: "of-the-suite" })).contextId, "of-the-suite");
    const { message } = await client.send(triggered("tck-message-response", client));
    assert.notEqual((message as JsonObject)["contextId"] ?? "", "");
  });

  everyTransport("R-155 a message that names only its task goes on with it, in its context", async (client) => {
    const { id: taskId, contextId } = await ask(client);
    const task = taskIn(await client.send(triggered("tck-complete-task", client, { taskId })));
    assert.deepEqual([task.id, task.contextId, task.state], [taskId, contextId, "COMPLETED"]);
  });

  everyTransport("R-156 C-29 a message of another context than its task's is refused", async (client) => {
    const { id: taskId } = await ask(client);
    const call = client.send(triggered("tck-complete-task", client, { taskId, contextId: "another" }));
    assert.equal(await reasonOf(call), "INVALID_ARGUMENT");
  });

  everyTransport("a message to a task that is not there, or that has ended, is refused", async (client) => {
    const { id: taskId } = taskIn(await client.send(triggered("tck-complete-task", client)));
    for (const [names, reason] of [
      ["no-such-task", "TASK_NOT_FOUND"],
      [taskId, "UNSUPPORTED_OPERATION"],
    ]) {
      assert.equal(await reasonOf(client.send(triggered("tck-complete-task", client, { taskId: names ?? "" }))), reason);
      assert.equal(await reasonOf(client.stream(triggered("tck-complete-task", client, { taskId: names ?? "" }))), reason);
    }
    assert.equal(await reasonOf(client.getTask("no-such-task")), "TASK_NOT_FOUND");
    assert.equal(await reasonOf(client.cancelTask("no-such-task")), "TASK_NOT_FOUND");
  });

  everyTransport("follow-ups are in the history in their order, with their texts", async (client) => {
    const texts = ["first", "second", "third"];
    let taskId = "";
    for (const text of texts) taskId = (await ask(client, { parts: [{ text }], ...(taskId !== "" && { taskId }) })).id;
    const said = readTask(await client.getTask(taskId)).history.filter((line) => line.startsWith("ROLE_USER"));
    assert.deepEqual(
      said,
      texts.map((text) => `ROLE_USER: ${text}`),
    );
  });

  everyTransport("R-058 R-059 R-060 historyLength bounds the history of GetTask and of a send", async (client) => {
    const { id: taskId } = await ask(client);
    await ask(client, { taskId });
    const all = readTask(await client.getTask(taskId)).history;
    assert.ok(all.length >= 2);
    for (const length of [0, 1, 2]) {
      const json = await client.getTask(taskId, length);
      assert.deepEqual(readTask(json).history, length === 0 ? [] : all.slice(-length));
      if (length === 0) assert.ok(!("history" in json));
    }
    for (const historyLength of [0, 1]) {
      const reply = await client.send(triggered("tck-input-required", client, { taskId }), { historyLength });
      assert.equal(taskIn(reply).history.length, historyLength);
    }
  });

  everyTransport("R-048 tasks of a context are listed, with artifacts only where they are asked for", async (client) => {
    const contextId = `list-${client.transport}`;
    const sent = async (prefix: string): Promise<string> => taskIn(await client.send(triggered(prefix, client, { contextId }))).id;
    const [bare, rich] = [await sent("tck-complete-task"), await sent("tck-artifact-text")];
    const list = async (more: { pageSize?: number; includeArtifacts?: boolean }): Promise<Map<unknown, JsonValue | undefined>> => {
      const { tasks } = await client.listTasks({ contextId, ...more });
      return new Map((tasks as JsonObject[]).map((task) => [task["id"], task["artifacts"]]));
    };
    assert.equal((await list({ pageSize: 1 })).size, 1);
    for (const more of [{}, { includeArtifacts: false }]) {
      const without = await list(more);
      assert.deepEqual([without.size, without.get(bare), without.get(rich)], [2, undefined, undefined]);
    }
    const withArtifacts = await list({ includeArtifacts: true });
    assert.equal(((withArtifacts.get(bare) ?? []) as JsonValue[]).length, 0);
    assert.equal(((withArtifacts.get(rich) ?? []) as JsonValue[]).length, 1);
  });

  everyTransport(
    "R-075 R-077 R-078 R-084 R-085 subscribers see the same, across a question and to the end; one that goes disturbs none",
    async (client) => {
      const { id: taskId } = await ask(client);
      const streams = [client.subscribe(taskId), client.subscribe(taskId), client.subscribe(taskId)];
      const seen = await Promise.all(streams.map(async (stream) => [await next(stream)]));
      for (const [first] of seen) assert.equal(readTask(first?.["task"] as JsonValue).state, "INPUT_REQUIRED");
      await streams.pop()?.return(undefined);
      await ask(client, { taskId });
      await client.send(triggered("tck-complete-task", client, { taskId }));
      const [a, b] = await Promise.all(streams.map(framesOf));
      assert.deepEqual(outline(a ?? []), ["status WORKING", "status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
      assert.deepEqual(b, a);
      assert.equal(JSON.stringify(b), JSON.stringify(a));
      assert.deepEqual(seen[1], seen[0]);
    },
  );

  everyTransport("R-073 R-074 a subscription to a task that has ended, or is not there, is refused", async (client) => {
    const { id } = taskIn(await client.send(triggered("tck-complete-task", client)));
    assert.equal(await reasonOf(client.subscribe(id)), "UNSUPPORTED_OPERATION");
    assert.equal(await reasonOf(client.subscribe("no-such-task")), "TASK_NOT_FOUND");
  });

  everyTransport("R-014 a part of a type that the card does not name is refused", async (client) => {
    const parts = [{ raw: "dGNr", mediaType: "application/x-unsupported-tck-type" }];
    assert.equal(await reasonOf(client.send(triggered("tck-send-003", client, { parts }))), "CONTENT_TYPE_NOT_SUPPORTED");
  });

  test("R-197 C-11 version 99.0 is refused, and an empty one answered in good form", async () => {
    for (const client of bed.withHeaders({ "a2a-version": "99.0" })) {
      assert.equal(await reasonOf(client.send(triggered("tck-ver-003", client))), "VERSION_NOT_SUPPORTED");
      assert.equal(await reasonOf(client.stream(triggered("tck-ver-003", client))), "VERSION_NOT_SUPPORTED");
    }
    for (const client of bed.withHeaders({ "a2a-version": "" })) {
      assert.equal(await reasonOf(client.send(triggered("tck-ver-003", client))), "VERSION_NOT_SUPPORTED");
    }
  });

  test("R-215 extensions that nobody knows change nothing", async () => {
    for (const client of bed.withHeaders({ "a2a-extensions": "urn:a2a:tck:unknown, https://example.com/none/v1" })) {
      assert.equal(taskIn(await client.send(triggered("tck-complete-task", client))).says, "Hello from TCK");
      const frames = await framesOf(client.stream(triggered("tck-stream-001", client)));
      assert.deepEqual(outline(frames).at(-1), "status COMPLETED");
    }
  });
});
