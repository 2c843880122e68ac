import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import {
  AgentCardSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit } from "../../../src/core/agent.ts";
import type { ServeInit } from "../../../src/server/serve.ts";
import { type Bed, openBed, type Outcome } from "../bed.ts";
import { LINE_ENDS, ScenarioAgent } from "../scenario-agent.ts";
import {
  type A2AClient,
  asOutcome,
  client,
  everyWay,
  factsOf,
  framesOf,
  json,
  type Ports,
  sendOf,
  taskFor,
  userMessage,
  watch,
  WAYS,
} from "./ways.ts";

class WithCard extends ScenarioAgent {
  override async extendedCard(): Promise<AgentCardInit> {
    return { ...this.card, description: "for those who are known" };
  }
}

const AUTHENTICATED = { authenticate: () => ({ name: "alice" }) };

/** A server for a suite. */
function shared(init: Partial<ServeInit> = {}, agent = new ScenarioAgent()): { bed: () => Bed; ports: () => Ports } {
  let opened: Bed | undefined;
  before(async () => (opened = await openBed(init, agent)));
  after(() => opened?.[Symbol.asyncDispose]());
  const bed = (): Bed => opened ?? assert.fail("the server is not up");
  return { bed, ports: () => bed().server.ports };
}

suite("every operation over every transport", () => {
  const { bed, ports } = shared({ ...AUTHENTICATED, push: { enabled: true, maxConfigs: 3 }, tenants: ["acme"] }, new WithCard());

  everyWay("SendMessage answers a task at rest", ports, async (caller) => {
    return json(SendMessageResponseSchema, await caller.sendMessage(sendOf("complete")));
  });

  everyWay("SendMessage answers a message", ports, async (caller) => {
    return json(SendMessageResponseSchema, await caller.sendMessage(sendOf("reply me")));
  });

  everyWay("SendStreamingMessage gives every frame, and ends", ports, async (caller) => {
    return framesOf(caller.sendStreamingMessage(sendOf("complete")));
  });

  everyWay("what ends lines somewhere ends none here", ports, async (caller) => {
    const frames = await framesOf(caller.sendStreamingMessage(sendOf("lines")));
    assert.ok(JSON.stringify(frames).includes(JSON.stringify(LINE_ENDS)));
    return frames;
  });

  everyWay("GetTask, ListTasks and CancelTask", ports, async (caller) => {
    const id = await taskFor(caller, "input");
    const got = await caller.getTask({ id, historyLength: 1 });
    const listed = await caller.listTasks({
      contextId: got.contextId,
      status: TaskState.INPUT_REQUIRED,
      pageSize: 5,
      includeArtifacts: true,
    });
    const canceled = await caller.cancelTask({ id, metadata: { why: "a test" } });
    return [json(TaskSchema, got), json(ListTasksResponseSchema, listed), json(TaskSchema, canceled)];
  });

  everyWay("SubscribeToTask begins with the task and goes on", ports, async (caller) => {
    const gate = bed().agent.gate();
    const id = await taskFor(caller, `slow ${gate.name}`);
    await gate.reached;
    const stream = caller.subscribeToTask({ id })[Symbol.asyncIterator]();
    const first = await stream.next();
    gate.open();
    const rest = await framesOf({ [Symbol.asyncIterator]: () => stream });
    assert.equal(first.value?.payload.case, "task");
    return rest;
  });

  everyWay("push configurations: create, get, list, delete", ports, async (caller) => {
    const taskId = await taskFor(caller, "input");
    const created = await caller.createTaskPushNotificationConfig({ taskId, id: "a/b c", url: "https://example.com/hook", token: "t" });
    const got = await caller.getTaskPushNotificationConfig({ taskId, id: "a/b c" });
    const listed = await caller.listTaskPushNotificationConfigs({ taskId, pageSize: 2 });
    await caller.deleteTaskPushNotificationConfig({ taskId, id: "a/b c" });
    await caller.deleteTaskPushNotificationConfig({ taskId, id: "a/b c" });
    const gone = await factsOf(caller.getTaskPushNotificationConfig({ taskId, id: "a/b c" }));
    return [
      json(TaskPushNotificationConfigSchema, created),
      json(TaskPushNotificationConfigSchema, got),
      json(ListTaskPushNotificationConfigsResponseSchema, listed),
      asOutcome(gone),
    ];
  });

  everyWay("GetExtendedAgentCard", ports, async (caller) => {
    const card = json(AgentCardSchema, await caller.getExtendedAgentCard({})) as Record<string, Outcome>;
    return { ...card, supportedInterfaces: [] };
  });

  everyWay("a tenant is a field of every request", ports, async (caller) => {
    const tenant = "acme";
    const { payload } = await caller.sendMessage({ ...sendOf("input"), tenant });
    assert.ok(payload.case === "task");
    const { id } = payload.value;
    const seen = await caller.getTask({ tenant, id });
    assert.equal(seen.id, id);
    assert.equal((await watch(caller.subscribeToTask({ tenant: "no-such", id }))).end === "clean", false);
    return asOutcome(await factsOf(caller.getTask({ id })));
  });

  everyWay("ids of any text arrive as they are", ports, async (caller) => {
    const outcomes: Outcome[] = [];
    for (const id of ["a b/c:subscribe?x=1%2F#é", "..", ".", "%2e%2e", "a:cancel", "🧪"]) {
      const facts = await factsOf(caller.getTask({ id }));
      assert.deepEqual(facts.metadata, { taskId: id });
      outcomes.push(asOutcome(facts));
    }
    return outcomes;
  });

  test("headers of the reply are there, those of the request arrive, and the call's own win", async () => {
    for (const way of WAYS) {
      let asked = 0;
      const headers = (): Record<string, string> => ({ "a2a-version": "0.3", "x-asked": String(++asked) });
      using opened = client(way.open(ports(), { headers }));
      const wrong = await factsOf(opened.client.getTask({ id: "x" }));
      assert.equal(wrong.reason, "VERSION_NOT_SUPPORTED", way.name);
      let seen: Headers | undefined;
      const { payload } = await opened.client.sendMessage(sendOf("complete"), {
        headers: { "a2a-version": "1.0" },
        onHeader: (header) => (seen = header),
      });
      assert.ok(payload.case === "task");
      assert.equal(seen?.get("a2a-task-id"), payload.value.id, way.name);
      assert.equal(asked, 2);
    }
  });
});

suite("errors over every transport", () => {
  const { ports } = shared();

  everyWay("a server's errors are the same facts", ports, async (caller) => {
    const done = await caller.sendMessage(sendOf("complete"));
    assert.ok(done.payload.case === "task");
    const { id } = done.payload.value;
    return [
      asOutcome(await factsOf(caller.getTask({ id: "nope" }))),
      asOutcome(await factsOf(caller.cancelTask({ id }))),
      asOutcome(await factsOf(caller.subscribeToTask({ id }))),
      asOutcome(await factsOf(caller.subscribeToTask({ id: "nope" }))),
      asOutcome(await factsOf(caller.sendMessage({ message: userMessage("complete", { taskId: id }) }))),
      asOutcome(await factsOf(caller.sendStreamingMessage({ message: { role: 7 as never } }))),
      asOutcome(await factsOf(caller.listTasks({ pageSize: 1000, historyLength: -1 }))),
      asOutcome(await factsOf(caller.listTaskPushNotificationConfigs({ taskId: id }))),
      asOutcome(await factsOf(caller.getExtendedAgentCard({}))),
      asOutcome(await factsOf(caller.sendMessage(sendOf("reply-invalid")))),
      asOutcome(await factsOf(caller.sendMessage(sendOf("reply-throw")))),
    ];
  });

  everyWay("an id that is missing is missed, by the server or before", ports, async (caller) => {
    const facts = await factsOf(caller.getTask({}));
    assert.deepEqual(
      facts.violations.map(({ field }) => field),
      ["id"],
    );
    return [facts.reason, facts.code];
  });
});

suite("a server with the error codes of 1.0.0", () => {
  const { ports } = shared({ errorCodes: "1.0.0" });

  everyWay("C-06 its errors are those of today", ports, async (caller) => {
    const id = await idOfDone(caller);
    const facts = await Promise.all([
      factsOf(caller.cancelTask({ id })),
      factsOf(caller.subscribeToTask({ id })),
      factsOf(caller.listTaskPushNotificationConfigs({ taskId: id })),
      factsOf(caller.getTask({ id }, { headers: { "a2a-version": "0.2" } })),
    ]);
    assert.deepEqual(
      facts.map(({ reason }) => reason),
      ["TASK_NOT_CANCELABLE", "UNSUPPORTED_OPERATION", "PUSH_NOTIFICATION_NOT_SUPPORTED", "VERSION_NOT_SUPPORTED"],
    );
    for (const { code } of facts) assert.equal(code, Code.FailedPrecondition);
    return facts.map(asOutcome);
  });
});

async function idOfDone(caller: A2AClient): Promise<string> {
  const { payload } = await caller.sendMessage(sendOf("complete"));
  return payload.case === "task" ? payload.value.id : assert.fail("no task");
}

suite("large messages over every transport", () => {
  const { ports } = shared();
  const MiB = 1024 * 1024;

  everyWay("5 MiB pass both ways, which is more than gRPC takes by itself", ports, async (caller) => {
    const large = `complete ${"x".repeat(5 * MiB)}`;
    for await (const { payload } of caller.sendStreamingMessage(sendOf(large))) {
      assert.ok(payload.case === "task");
      assert.equal(payload.value.history[0]?.parts[0]?.content.value, large);
      return undefined;
    }
    return assert.fail("no frame");
  });

  test("what is larger than maxMessageBytes is RESOURCE_EXHAUSTED, and the next call succeeds", async () => {
    const large = `complete ${"x".repeat(MiB)}`;
    for (const way of WAYS) {
      using opened = client(way.open(ports(), { maxMessageBytes: MiB / 2 }));
      const tooLarge = await factsOf(opened.client.sendMessage(sendOf(large)));
      assert.equal(tooLarge.reason, "RESOURCE_EXHAUSTED", `${way.name}: ${tooLarge.message}`);
      const { end } = await watch(opened.client.sendStreamingMessage(sendOf(large)));
      assert.equal(end !== "clean" && end.reason, "RESOURCE_EXHAUSTED", way.name);
      assert.equal((await watch(opened.client.sendStreamingMessage(sendOf("complete")))).end, "clean", way.name);
    }
  });
});
