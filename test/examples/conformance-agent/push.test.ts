/** Push configurations and the extended card in profile full, as the conformance kit asks for them. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { serveProfile, type SuiteBed, triggered } from "./suite/bed.ts";
import type { SuiteClient } from "./suite/client.ts";
import { reasonOf, taskIn } from "./suite/read.ts";

const URL_OF_KIT = "https://example.com/tck-push-webhook";

suite("push configurations", { timeout: 120_000 }, () => {
  let bed: SuiteBed;
  before(async () => {
    bed = await serveProfile("full");
  });
  after(() => bed[Symbol.asyncDispose]());

  /** The same over every transport, each with a task that has ended. */
  function everyTransport(name: string, body: (client: SuiteClient, taskId: string) => Promise<void>): void {
    test(name, async () => {
      for (const client of bed.clients) await body(client, taskIn(await client.send(triggered("tck-complete-task", client))).id);
    });
  }
  const ids = async (client: SuiteClient, taskId: string): Promise<string[]> =>
    (((await client.listPush(taskId))["configs"] ?? []) as { id: string }[]).map(({ id }) => id);

  everyTransport("R-096 R-098 R-100 C-62 C-63 are kept on an ended task under the id that the caller gave", async (client, taskId) => {
    const config = { id: "tck-push-0a1b2c3d", url: URL_OF_KIT };
    const made = await client.createPush(taskId, config);
    assert.deepEqual(made, { taskId, ...config });
    assert.deepEqual(await client.getPush(taskId, config.id), made);
    assert.deepEqual((await client.listPush(taskId))["configs"], [made]);
    const again = await client.createPush(taskId, { ...config, url: `${URL_OF_KIT}/other` });
    assert.deepEqual((await client.listPush(taskId))["configs"], [again]);
  });

  everyTransport("R-096 R-106 several are kept beside each other, whole; one without an id gets one", async (client, taskId) => {
    const secret = { token: "tck-token", authentication: { scheme: "Bearer", credentials: "tck-test-token-1" } };
    const made = await client.createPush(taskId, { url: URL_OF_KIT, ...secret });
    const id = made["id"] as string;
    assert.notEqual(id ?? "", "");
    assert.deepEqual(await client.getPush(taskId, id), { id, taskId, url: URL_OF_KIT, ...secret });
    await client.createPush(taskId, { id: "tck-push-2", url: URL_OF_KIT });
    assert.deepEqual(new Set(await ids(client, taskId)), new Set([id, "tck-push-2"]));
  });

  everyTransport("R-104 are deleted twice without an error, and are gone then", async (client, taskId) => {
    await client.createPush(taskId, { id: "tck-push-1", url: URL_OF_KIT });
    await client.deletePush(taskId, "tck-push-1");
    await client.deletePush(taskId, "tck-push-1");
    assert.deepEqual(await ids(client, taskId), []);
    assert.equal(await reasonOf(client.getPush(taskId, "tck-push-1")), "TASK_NOT_FOUND");
  });

  everyTransport("R-095 R-099 R-102 R-105 of a task or an id that is not there are not found", async (client, taskId) => {
    assert.equal(await reasonOf(client.getPush(taskId, "tck-push-none")), "TASK_NOT_FOUND");
    const none = "no-such-task";
    for (const call of [
      () => client.createPush(none, { id: "x", url: URL_OF_KIT }),
      () => client.getPush(none, "x"),
      () => client.listPush(none),
      () => client.deletePush(none, "x"),
    ])
      assert.equal(await reasonOf(call()), "TASK_NOT_FOUND");
  });

  test("R-107 comes along with a send, and its webhook may be on this machine", async () => {
    for (const client of bed.clients) {
      const taskPushNotificationConfig: JsonObject = {
        id: "tck-push-send",
        url: "http://localhost:12345/webhook",
        authentication: { scheme: "Bearer", credentials: "tck-test-token-2" },
      };
      const { id: taskId } = taskIn(await client.send(triggered("tck-input-required", client), { taskPushNotificationConfig }));
      assert.deepEqual(await client.getPush(taskId, "tck-push-send"), { taskId, ...taskPushNotificationConfig });
    }
  });
});

suite("the extended card", () => {
  test("R-136 is the public one and a skill more, with credentials or without", async () => {
    await using bed = await serveProfile("full");
    const skills = (card: JsonObject): unknown[] => (card["skills"] as { id: string }[]).map(({ id }) => id);
    for (const client of [...bed.clients, ...bed.withHeaders({ authorization: "Bearer any" })]) {
      const card = await client.extendedCard();
      assert.deepEqual(skills(card), [...skills(bed.card), "extended"]);
      assert.deepEqual({ ...card, skills: [] }, { ...bed.card, skills: [] });
    }
  });

  test("R-043 R-068 callers with different tokens do not see each other's tasks", async () => {
    await using bed = await serveProfile("full");
    const [mine, yours] = [bed.withHeaders({ authorization: "Bearer one" }), bed.withHeaders({ authorization: "bearer two" })];
    for (const [at, client] of mine.entries()) {
      const { id, contextId } = taskIn(await client.send(triggered("tck-input-required", client)));
      const other = yours[at] as SuiteClient;
      for (const stranger of [other, bed.clients[at] as SuiteClient]) {
        assert.equal(await reasonOf(stranger.cancelTask(id)), "TASK_NOT_FOUND");
        assert.deepEqual((await stranger.listTasks({ contextId }))["tasks"] ?? [], []);
      }
      assert.equal(((await client.listTasks({ contextId }))["tasks"] as unknown[]).length, 1);
    }
  });
});
