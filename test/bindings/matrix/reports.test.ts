/** Faults that were reported of others, as their callers would meet them here. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { brief, collect, everywhere, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import { eventData } from "../callers/http.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

suite("reported of others", () => {
  const bed = sharedBed({ cancelGraceMs: 40 }, new ScenarioAgent());

  everywhere("P-7 a task that nobody streamed is followed event by event like one that was streamed", bed, async (caller, { agent }) => {
    const gates = [agent.gate(), agent.gate()] as const;
    const streamed = caller.stream("SendStreamingMessage", send(`later ${gates[0].name}`));
    const id = await startTask(caller, `later ${gates[1].name}`);
    const followed = caller.stream("SubscribeToTask", { id });
    const firsts = [await nextFrame(streamed), await nextFrame(followed)];
    assert.deepEqual(firsts.map(brief), ["task SUBMITTED", "task SUBMITTED"]);
    for (const gate of gates) gate.open();
    const [one, other] = await Promise.all([collect(streamed), collect(followed)]);
    assert.deepEqual(other.frames.map(brief), ["status WORKING", "artifact a", "status COMPLETED"]);
    assert.deepEqual([other.frames.map(brief), other.end], [one.frames.map(brief), one.end]);
    return [firsts[0], one.frames, firsts[1], other.frames];
  });

  everywhere(
    "P-12 what an agent says after its question reaches all who follow, in order, and the task",
    bed,
    async (caller, { agent }) => {
      const gate = agent.gate();
      const sender = caller.stream("SendStreamingMessage", send(`ask-and-go-on ${gate.name}`));
      const { task } = (await nextFrame(sender)) as { task: { id: string } };
      assert.equal(brief(await nextFrame(sender)), "status WORKING");
      const follower = caller.stream("SubscribeToTask", { id: task.id });
      assert.equal(brief(await nextFrame(follower)), "task WORKING");
      gate.open();
      const [sent, followed] = await Promise.all([collect(sender), collect(follower)]);
      assert.deepEqual([sent.frames.map(brief), sent.end], [["status INPUT_REQUIRED"], "clean"]);
      assert.deepEqual([followed.frames.map(brief), followed.end], [["status INPUT_REQUIRED", "artifact a", "status COMPLETED"], "clean"]);
      const { message } = await caller.unary("GetTask", { id: task.id });
      assert.equal(stateOf(message), "TASK_STATE_COMPLETED");
      return [sent.frames, followed.frames, message];
    },
  );

  everywhere("P-31 P-38 what a canceled turn says afterwards is said to nobody: CANCELED stays", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `later ${gate.name}`);
    const { signal } = await gate.reached;
    const { message: canceled } = await caller.unary("CancelTask", { id });
    assert.equal(stateOf(canceled), "TASK_STATE_CANCELED");
    assert.ok(signal.aborted);
    gate.open();
    await gate.left;
    const { message } = await caller.unary("GetTask", { id });
    assert.deepEqual(message, canceled);
    return message;
  });
});

suite("P-22 a subscription over HTTP+JSON", () => {
  const bed = sharedBed({ tenants: ["acme"] });

  for (const tenant of ["", "/acme"]) {
    for (const [verb, body] of [
      ["GET", undefined],
      ["POST", undefined],
      ["POST", "{}"],
      ["POST", "null"],
    ] as const) {
      test(`P-22 is opened by ${verb} ${tenant}/tasks/{id}:subscribe with ${body ?? "nothing"} in its body`, async () => {
        const { rest } = bed();
        const options = tenant === "" ? {} : { pathTenant: "acme" };
        const { id } = taskOf(await rest.unary("SendMessage", send("input"), options));
        const headers = [["a2a-version", "1.0"] as const, ...(body === undefined ? [] : [["content-type", "application/json"] as const])];
        const response = await rest.http.open({ method: verb, target: `${tenant}/tasks/${id}:subscribe`, headers, body });
        assert.deepEqual([response.statusCode, response.headers["content-type"]], [200, "text/event-stream"]);
        const { value: data = "" } = await eventData(response).next();
        assert.match(data, new RegExp(`^{"task":{"id":"${id}"`));
        response.destroy();
      });
    }
  }
});
