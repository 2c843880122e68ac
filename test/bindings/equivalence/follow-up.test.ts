import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure, type PlainFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

/** The same refusal of the three ways to send. */
async function refused(caller: Caller, request: JsonObject, reason: string, fields: readonly string[] = []): Promise<PlainFailure[]> {
  const immediate = { ...request, configuration: { returnImmediately: true } };
  const failures = [
    await failureOf(caller.unary("SendMessage", request)),
    await failureOf(caller.unary("SendMessage", immediate)),
    await failureOf(caller.stream("SendStreamingMessage", request)),
  ];
  return failures.map((failure) => checkFailure(caller, failure, reason, fields));
}

suite("a message on a task", () => {
  const bed = sharedBed();

  for (const asking of ["input", "auth", "alive"]) {
    everywhere(`R-025 R-026 R-155 R-182 that is interrupted goes on with it, in its context: ${asking}`, bed, async (caller) => {
      const first = taskOf(await caller.unary("SendMessage", send(asking)));
      const second = taskOf(await caller.unary("SendMessage", send("complete", { message: { taskId: first.id } })));
      assert.equal(second.id, first.id);
      assert.equal(second.contextId, first.contextId);
      assert.equal(stateOf(second), "TASK_STATE_COMPLETED");
      const said = (second["history"] as JsonObject[]).map((one) => (one["parts"] as JsonObject[])[0]?.["text"]);
      assert.deepEqual([said.at(0), said.at(-1)], [asking, "complete"]);
      const last = (second["history"] as JsonObject[]).at(-1);
      assert.deepEqual([last?.["taskId"], last?.["contextId"]], [first.id, first.contextId]);
      return [first, second];
    });
  }

  everywhere("R-017 answers at once, WORKING already, where it is not to wait", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send(`silent ${gate.name}`, { message: { taskId: id }, configuration: { returnImmediately: true } });
    const reply = await caller.unary("SendMessage", request);
    assert.equal(stateOf(taskOf(reply)), "TASK_STATE_WORKING");
    assert.equal(reply.headers.get("a2a-task-id"), id);
    gate.open();
    return stateOf(taskOf(reply));
  });

  everywhere("C-38 streams from WORKING on, never from the interrupted state", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const { frames, end } = await collect(caller.stream("SendStreamingMessage", send("complete", { message: { taskId: id } })));
    assert.deepEqual([frames.map(brief), end], [["task WORKING", "artifact a", "status COMPLETED"], "clean"]);
    return frames;
  });

  everywhere("C-38 may be asked again: only a state entered after the message ends the wait", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const again = taskOf(await caller.unary("SendMessage", send("input", { message: { taskId: id } })));
    assert.equal(stateOf(again), "TASK_STATE_INPUT_REQUIRED");
    const { frames, end } = await collect(caller.stream("SendStreamingMessage", send("input", { message: { taskId: id } })));
    assert.deepEqual([frames.map(brief), end], [["task WORKING", "status INPUT_REQUIRED"], "clean"]);
    return [again, frames];
  });

  everywhere("R-022 bounds its history too", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send("complete", { message: { taskId: id }, configuration: { historyLength: 1 } });
    const stream = caller.stream("SendStreamingMessage", request);
    const { task } = (await nextFrame(stream)) as { task: JsonObject };
    stream.leave();
    assert.equal((task["history"] as JsonObject[]).length, 1);
    return task;
  });

  everywhere("SV-14 that is repeated is answered as the first time", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send("complete", { message: { taskId: id } });
    const first = await caller.unary("SendMessage", request);
    const again = await caller.unary("SendMessage", request);
    assert.deepEqual(again.message, first.message);
    return [first.message, again.message];
  });

  everywhere("R-149 R-156 C-29 is refused where it names another context", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const request = send("complete", { message: { taskId: id, contextId: crypto.randomUUID() } });
    const failures = await refused(caller, request, "INVALID_ARGUMENT", ["message.contextId"]);
    const task = await caller.unary("GetTask", { id });
    assert.equal(stateOf(task.message), "TASK_STATE_INPUT_REQUIRED");
    return failures;
  });

  everywhere("is taken where it names the task's own context", bed, async (caller) => {
    const { id, contextId } = taskOf(await caller.unary("SendMessage", send("input")));
    const task = taskOf(await caller.unary("SendMessage", send("complete", { message: { taskId: id, contextId } })));
    assert.equal(task.id, id);
    return task;
  });

  everywhere("R-013 R-034 R-142 is refused where there is no such task", bed, (caller) =>
    refused(caller, send("complete", { message: { taskId: crypto.randomUUID() } }), "TASK_NOT_FOUND"),
  );

  for (const text of ["complete", "fail", "reject"]) {
    everywhere(`R-012 R-034 R-171 P-25 is refused where the task has ended: ${text}`, bed, async (caller) => {
      const { id } = taskOf(await caller.unary("SendMessage", send(text)));
      return refused(caller, send("complete", { message: { taskId: id } }), "UNSUPPORTED_OPERATION");
    });
  }

  everywhere("C-39 is refused while the agent works and takes no messages", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `slow ${gate.name}`);
    await gate.reached;
    const failures = await refused(caller, send("complete", { message: { taskId: id } }), "UNSUPPORTED_OPERATION");
    gate.open();
    return failures;
  });
});

suite("an agent that takes messages while it works", () => {
  const bed = sharedBed({}, new ScenarioAgent({ acceptsMessages: true }));

  everywhere("R-025 C-39 gets them in the same turn; every way to wait sees the end", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const first = caller.stream("SendStreamingMessage", send(`converse ${gate.name}`));
    const { task } = (await nextFrame(first)) as { task: JsonObject };
    assert.equal(brief(await nextFrame(first)), "status WORKING");
    const second = caller.stream("SendStreamingMessage", send("birds", { message: { taskId: task["id"] as string } }));
    const opening = await nextFrame(second);
    assert.equal(brief(opening), "task WORKING");
    gate.open();
    const [rest, other] = await Promise.all([collect(first), collect(second)]);
    assert.deepEqual(rest, other);
    assert.deepEqual(rest.frames.map(brief), ["status COMPLETED"]);
    return [opening, rest.frames];
  });
});
