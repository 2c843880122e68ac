/** A server with everything that is optional: all eleven operations, alike on every binding. */
import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCardInit, CardReader } from "../../../src/core/agent.ts";
import { errorOf, everywhere, failureOf, nextFrame, type Outcome, send, sharedBed, stateOf, taskOf } from "../bed.ts";
import type { CallFailed, Caller, CallOptions, Reply } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";
import { call, OF_A_TASK, type Operation, OPERATIONS } from "./operations.ts";

const [ALICE, BOB] = [{ headers: { authorization: "Bearer a" } }, { headers: { authorization: "Bearer b" } }];
const SECRET = { token: "t0ken", authentication: { scheme: "Bearer", credentials: "s3cret" } };
const URL = "https://example.com/hook";

/** Has a card for everybody but bob, whose card breaks. */
class WithCard extends ScenarioAgent {
  override async extendedCard({ principal }: CardReader): Promise<AgentCardInit> {
    if (principal === "bob") throw new Error("a secret of the agent");
    return { ...this.card, description: `for ${principal}` };
  }
}

suite("a server with everything on", () => {
  const bed = sharedBed({ tokens: { a: "alice", b: "bob" }, push: { enabled: true, maxConfigs: 3 } }, new WithCard());

  everywhere("R-001 R-002 answers all eleven operations", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input"), ALICE));
    const answers = new Map<string, JsonObject>();
    for (const operation of OPERATIONS.toSorted(cancelLast)) {
      answers.set(operation.name, await answerOf(caller, operation, operation.request(id), ALICE));
    }
    const { tasks, ...list } = answers.get("ListTasks") ?? {};
    const { supportedInterfaces, ...card } = answers.get("GetExtendedAgentCard") ?? {};
    assert.ok((tasks as JsonObject[]).some((task) => task["id"] === id));
    assert.ok((supportedInterfaces as JsonObject[]).length >= 3);
    assert.equal(card["description"], "for alice");
    assert.equal(stateOf(answers.get("CancelTask") ?? {}), "TASK_STATE_CANCELED");
    // Other tests add tasks, and ports are each server's own.
    return { ...Object.fromEntries(answers), ListTasks: Object.keys(list), GetExtendedAgentCard: card };
  });

  everywhere("R-247 R-249 R-365 tells nobody whether another's task is there, whatever they ask of it", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input"), ALICE));
    const answers: Record<string, unknown>[] = [];
    for (const taskId of [id, crypto.randomUUID()]) {
      const failures = await Promise.all(OF_A_TASK.map((operation) => errorOf(call(caller, operation, operation.request(taskId), BOB))));
      for (const { failure } of failures) {
        checkFailure(caller, failure, "TASK_NOT_FOUND");
        assert.equal(failure.metadata["taskId"], taskId);
      }
      answers.push({ said: failures.map(({ failure: { metadata, ...rest } }) => [rest, Object.keys(metadata)]) });
    }
    assert.deepEqual(answers[0], answers[1]);
    return undefined;
  });

  const askedByFront = { behindFront: "the upstream makes its card for the front, whoever asks there" };
  const brokenCard = async (caller: Caller): Promise<Outcome> => {
    const failure = await failureOf(caller.unary("GetExtendedAgentCard", {}, BOB));
    assert.ok(!JSON.stringify(failure).includes("secret of"));
    return checkFailure(caller, failure, "INTERNAL");
  };
  everywhere("R-252 tells nothing of an agent's card that broke", bed, brokenCard, askedByFront);

  everywhere("SV-14 keeps the webhook of a send that is repeated once, with the task and with a follow-up", bed, async (caller) => {
    const configuration = { taskPushNotificationConfig: { url: URL, ...SECRET } };
    const request = send("input", { configuration });
    for (let count = 0; count < 3; count += 1) await caller.unary("SendMessage", request, ALICE);
    const { id } = taskOf(await caller.unary("SendMessage", request, ALICE));
    const more = send("input", { message: { taskId: id }, configuration });
    for (let count = 0; count < 3; count += 1) await caller.unary("SendMessage", more, ALICE);
    const { message } = await caller.unary("ListTaskPushNotificationConfigs", { taskId: id }, ALICE);
    const configs = message["configs"] as JsonObject[];
    assert.equal(configs.length, 2);
    for (const { id: _, ...config } of configs) assert.deepEqual(config, { taskId: id, url: URL, ...SECRET });
    return undefined;
  });

  everywhere("keeps no webhook of a message that is answered directly", bed, async (caller) => {
    const request = send("reply hello", { configuration: { taskPushNotificationConfig: { url: URL } } });
    const { message } = await caller.unary("SendMessage", request, ALICE);
    assert.ok("message" in message);
    return undefined;
  });

  everywhere("R-370 counts the webhooks that come at the same time", bed, async (caller) => {
    const { id: taskId } = taskOf(await caller.unary("SendMessage", send("input"), ALICE));
    const calls = Array.from({ length: 10 }, () => caller.unary("CreateTaskPushNotificationConfig", { taskId, url: URL }, ALICE));
    const outcomes = await Promise.allSettled(calls);
    const { message } = await caller.unary("ListTaskPushNotificationConfigs", { taskId }, ALICE);
    assert.equal((message["configs"] as JsonObject[]).length, 3);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    for (const { reason } of refused as { reason: CallFailed }[]) checkFailure(caller, reason.failure, "RESOURCE_EXHAUSTED");
    assert.equal(refused.length, 7);
    return undefined;
  });
});

/** A reply, or the first frame of a stream. */
async function answerOf(caller: Caller, operation: Operation, request: JsonObject, options: CallOptions): Promise<JsonObject> {
  const called = call(caller, operation, request, options);
  if (!("next" in called)) return ((await called) as Reply).message;
  const frame = await nextFrame(called);
  called.leave();
  return frame;
}

function cancelLast(a: Operation, b: Operation): number {
  return Number(a.name === "CancelTask") - Number(b.name === "CancelTask");
}
