/** Callers that leave at any moment, over every surface: their tasks go on, and nothing of their calls stays. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { queryObjects } from "node:v8";
import type { JsonObject } from "@bufbuild/protobuf";
import { CallContext } from "../../../src/bindings/call-context.ts";
import type { Turn } from "../../../src/core/agent.ts";
import { type AgentEvent, working } from "../../../src/core/events.ts";
import { Follower } from "../../../src/core/follow.ts";
import { until } from "../../redis/until.ts";
import { openBed, send, startTask, stateOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

/** Of each caller; two thirds begin a task. */
const CALLS = 150;
const WITHIN_MS = 60_000;

/** Works until all may end. */
class Waiting extends ScenarioAgent {
  readonly mayEnd = Promise.withResolvers<void>();
  /** Whether a turn was stopped: no caller may do that by leaving. */
  stopped = false;

  override async *run({ signal }: Turn): AsyncGenerator<AgentEvent> {
    signal.addEventListener("abort", () => (this.stopped = true));
    yield working();
    await this.mayEnd.promise;
  }
}

test("R-086 SV-06 SV-07 their tasks end as if they had stayed, and no call and no reader is left", { timeout: 120_000 }, async () => {
  const agent = new Waiting();
  await using bed = await openBed({}, agent);
  const contexts: string[] = [];
  for (const caller of bed.callers) {
    const id = await startTask(caller, "wait");
    const calls = Array.from({ length: CALLS }, async (_, index) => {
      const contextId = crypto.randomUUID();
      const left = await leave(caller, index, { id, contextId });
      if (left === "send") contexts.push(contextId);
    });
    await Promise.all(calls);
  }
  await nothingLeft();
  assert.equal(agent.stopped, false);
  agent.mayEnd.resolve();
  // Some left before their request had arrived.
  await until("every task has ended", WITHIN_MS, async () => {
    const { message } = await bed.grpc.unary("ListTasks", { status: "TASK_STATE_WORKING" });
    return message["totalSize"] === undefined;
  });
  let found = 0;
  for (const contextId of contexts) {
    const { message } = await bed.grpc.unary("ListTasks", { contextId });
    for (const task of (message["tasks"] ?? []) as JsonObject[]) {
      assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
      found += 1;
    }
  }
  assert.ok(found > contexts.length / 2, `${found} of ${contexts.length} sends had arrived`);
});

/** Resolves when no call and no reader is held any more. */
async function nothingLeft(): Promise<void> {
  await until("no call is left", WITHIN_MS, async () => {
    await delay(200);
    return [CallContext, Follower].every((kind) => queryObjects(kind, { format: "count" }) === 0);
  });
}

/** Makes a call and leaves it, some turns of the loop later: before it has arrived, or in its middle. */
async function leave(
  caller: Caller,
  index: number,
  { id, contextId }: { id: string; contextId: string },
): Promise<"send" | "subscription"> {
  const leaving = new AbortController();
  const request = send("wait", { message: { contextId } });
  const kind = index % 3;
  const call =
    kind === 0
      ? caller.unary("SendMessage", request, leaving)
      : caller.stream(kind === 1 ? "SendStreamingMessage" : "SubscribeToTask", kind === 1 ? request : { id }, leaving).next();
  const gone = call.catch(() => undefined);
  // At once grpc-js would only forget the call, and not reset it.
  for (let turns = 1 + (index % 29); turns > 0; turns -= 1) await turn();
  leaving.abort();
  await gone;
  return kind === 2 ? "subscription" : "send";
}
