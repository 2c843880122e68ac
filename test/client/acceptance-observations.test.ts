/** How a task comes before the book, and what is recorded where it does not. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, A2AError, type AcceptanceRecord, judgedBy, MemoryRecords } from "../../src/client/index.ts";
import { acceptanceBed, brief, CONCLUDED, text, textOf, WHOLE, wordOf } from "./acceptance-bed.ts";
import { BINDINGS } from "./client-bed.ts";

/** The card of an agent at an address, over HTTP+JSON. */
function cardOf(url: string): AgentCard {
  return create(AgentCardSchema, {
    name: "Another",
    capabilities: { streaming: true },
    supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
  });
}

suite("what cannot be observed", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  test("CL-26 a task that the agent does not know is held, with the gap and its owner", async () => {
    const here = bed().book();
    const held = await here.accept("no-such-task", { checks: [CONCLUDED], owner: "grace", contextId: "reports" });
    assert.equal(brief(held), "held: it was not observed: TASK_NOT_FOUND: no such task");
    assert.deepEqual(held.gaps, [{ what: "TASK_NOT_FOUND: no such task", owner: "grace" }]);
    assert.deepEqual([held.contextId, held.observed, held.agent, held.content], ["reports", undefined, undefined, undefined]);
  });

  test("CL-26 a send that was lost before its task is held under its message", async () => {
    // Takes the message, and says nothing.
    const url = bed().file((_, reply) => reply.destroy());
    await using refused = await A2AClient.connect(cardOf(url));
    const here = bed().book({ client: refused });
    const run = refused.send({ messageId: "m-1", parts: [text("write")] });
    const held = await here.accept(run, { checks: [CONCLUDED] });
    assert.match(brief(held), /^held: it was not observed: the outcome is unknown: the work may have run/);
    assert.deepEqual([held.taskId, held.messageId, held.gaps.length], ["", "m-1", 1]);
    const other = refused.send({ messageId: "m-2", parts: [text("write")] });
    assert.equal((await here.hold(other, { reason: "lost too" })).messageId, "m-2");
    assert.equal((await here.list()).length, 2);
  });

  test("CL-26 an agent that is away: accept fails and records nothing, a hold records the gap in the context it knows", async () => {
    const { client, task: deliver, book } = bed();
    const store = new MemoryRecords();
    const { id, contextId } = await deliver({ chunks: WHOLE });
    const before = await book({ store }).accept(id, { checks: [CONCLUDED] });
    const away = { card: () => client.card(), endpoint: undefined, getTask: () => Promise.reject(new A2AError(new Error("nobody there"))) };
    const here = book({ store, client: away });
    await assert.rejects(here.accept(id, { checks: [CONCLUDED] }), /nobody there/);
    assert.deepEqual(await here.list(), [before]);
    const held = await here.hold(id, { reason: "it must be looked at again" });
    assert.deepEqual([held.contextId, held.artifactId, held.work, held.gaps[0]?.what], [contextId, "report", "report.md", "nobody there"]);
  });

  test("a task that is gone by now changes nothing in what was accepted of it", async () => {
    const { client, task: deliver, book } = bed();
    const store = new MemoryRecords();
    const { id, contextId } = await deliver({ chunks: WHOLE });
    const accepted = await book({ store }).accept(id, { checks: [CONCLUDED] });
    const forgetful = { card: () => client.card(), endpoint: undefined, getTask: () => client.getTask("gone") };
    const here = book({ store, client: forgetful });
    assert.deepEqual(await here.accept(id, { checks: [CONCLUDED] }), accepted);
    assert.deepEqual(await here.current(contextId), accepted);
  });
});

suite("how a task was observed", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  for (const binding of BINDINGS) {
    test(`is in the record: read, streamed to its end, told whole, told of by a webhook; over ${binding}`, async () => {
      const { server, task: deliver, book } = bed();
      await using client = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`, { bindings: [binding] });
      const task = await deliver({ chunks: WHOLE });
      const judge = (subject: Parameters<ReturnType<typeof book>["accept"]>[0]): Promise<AcceptanceRecord> =>
        book({ client }).accept(subject, { checks: [judgedBy("ada", "fine")], artifactId: "report" });
      const seen = async (subject: Parameters<typeof judge>[0]): Promise<string> => {
        const { observed, agent } = await judge(subject);
        assert.deepEqual([observed?.state, agent?.binding], ["TASK_STATE_COMPLETED", binding]);
        return observed?.by ?? "";
      };
      assert.equal(await seen(task.id), "get-task");
      assert.equal(await seen(client.follow(task.id)), "get-task");
      const status = {
        taskId: task.id,
        contextId: task.contextId,
        status: task.status,
        $typeName: "lf.a2a.v1.TaskStatusUpdateEvent",
      } as const;
      const notice = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value: status } } as const;
      assert.equal(await seen(notice), "push");
      assert.equal(await seen(client.send(wordOf(task))), "stream");
      assert.equal(await seen(client.send(wordOf(task), { wait: "block" })), "snapshot");
    });
  }

  test("CL-23 what a stream told in part is read whole before it is judged, and never twice", async () => {
    const { book, client: ours, task: deliver } = bed();
    const whole = toJson(TaskSchema, await ours.getTask((await deliver({ chunks: WHOLE })).id));
    const { id: taskId, contextId } = await ours.getTask((whole as { id: string }).id);
    const lines = [
      { task: { id: taskId, contextId, status: { state: "TASK_STATE_WORKING" } } },
      {
        artifactUpdate: {
          taskId,
          contextId,
          append: true,
          lastChunk: true,
          artifact: { artifactId: "report", parts: [{ text: "the end of it" }] },
        },
      },
      { statusUpdate: { taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } } },
    ];
    const url = bed().file((request, reply) => {
      if (request.method === "GET") reply.setHeader("content-type", "application/json").end(JSON.stringify(whole));
      else reply.setHeader("content-type", "text/event-stream").end(lines.map((line) => `data: ${JSON.stringify(line)}\n\n`).join(""));
    });
    await using client = await A2AClient.connect(cardOf(url));
    const record = await book({ client }).accept(client.send("write"), { checks: [CONCLUDED] });
    assert.deepEqual([record.decision, record.observed?.by, record.content?.bytes], ["accepted", "get-task", textOf(WHOLE).length]);
  });

  test("a direct message, and a notice that names no task, are nothing to accept", async () => {
    const { book, file } = bed();
    const url = file((_, reply) =>
      reply
        .setHeader("content-type", "text/event-stream")
        .end('data: {"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}\n\n'),
    );
    await using client = await A2AClient.connect(cardOf(url));
    const run = client.send("hello");
    const message = await run;
    assert.ok(message.$typeName === "lf.a2a.v1.Message");
    const subject = /^AcceptanceError: subject: /;
    await assert.rejects(book({ client }).accept(run, { checks: [CONCLUDED] }), subject);
    const notice = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "message", value: message } } as const;
    await assert.rejects(book().accept(notice, { checks: [CONCLUDED] }), subject);
  });
});
