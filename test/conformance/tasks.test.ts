/** Rules about tasks and their streams that no other test shows, on every binding and deployment. */
import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, stateOf, taskOf } from "../bindings/bed.ts";
import { checkFailure } from "../bindings/failures.ts";

/** One more than an unbounded list shows. */
const MANY = 51;

suite("tasks", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("R-041 reading a task and listing tasks changes nothing, however often", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const { id } = taskOf(await caller.unary("SendMessage", send("talk", { message: { contextId } })));
    const read = async (): Promise<JsonObject[]> => {
      const calls = [caller.unary("GetTask", { id }), caller.unary("ListTasks", { contextId })];
      return (await Promise.all(calls)).map(({ message }) => message);
    };
    const first = await read();
    for (let times = 0; times < 3; times += 1) assert.deepEqual(await read(), first);
    return first;
  });

  everywhere("R-142 R-143 each new task has an id of the server's own making, told with the task", bed, async (caller) => {
    const ids = new Set<string>();
    for (let count = 0; count < 3; count += 1) {
      const { id } = taskOf(await caller.unary("SendMessage", send("return")));
      assert.equal((await caller.unary("GetTask", { id })).message["id"], id);
      ids.add(id);
    }
    assert.equal(ids.size, 3);
    // Nobody chooses one: naming a task is naming one that exists.
    const chosen = await failureOf(caller.unary("SendMessage", send("return", { message: { taskId: "of-my-own" } })));
    return checkFailure(caller, chosen, "TASK_NOT_FOUND");
  });

  everywhere("R-165 tasks of one context run side by side", bed, async (caller, { agent }) => {
    const contextId = crypto.randomUUID();
    const gates = [agent.gate(), agent.gate()];
    const streams = gates.map((gate) => caller.stream("SendStreamingMessage", send(`slow ${gate.name}`, { message: { contextId } })));
    for (const stream of streams) {
      assert.deepEqual([brief(await nextFrame(stream)), brief(await nextFrame(stream))], ["task SUBMITTED", "status WORKING"]);
    }
    const listed = await caller.unary("ListTasks", { contextId, status: "TASK_STATE_WORKING" });
    assert.equal(listed.message["totalSize"], 2);
    for (const gate of gates.toReversed()) gate.open();
    const rests = await Promise.all(streams.map(collect));
    for (const { frames, end } of rests) assert.deepEqual([frames.map(brief), end], [["status COMPLETED"], "clean"]);
    return undefined;
  });

  everywhere("R-172 a task may be rejected later, not only at its beginning", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const { frames } = await collect(caller.stream("SendStreamingMessage", send("reject", { message: { taskId: id } })));
    assert.deepEqual(frames.map(brief), ["task WORKING", "status REJECTED"]);
    const more = await failureOf(caller.unary("SendMessage", send("complete", { message: { taskId: id } })));
    return [frames, checkFailure(caller, more, "UNSUPPORTED_OPERATION")];
  });

  everywhere("R-178 AUTH_REQUIRED is a state of a task, and its message says what is needed", bed, async (caller) => {
    const task = taskOf(await caller.unary("SendMessage", send("auth")));
    assert.equal(stateOf(task), "TASK_STATE_AUTH_REQUIRED");
    const { message } = task["status"] as { message: JsonObject };
    assert.deepEqual(message["parts"], [{ text: "log in at https://login.example/" }]);
    return task;
  });

  everywhere("R-090 R-162 R-163 R-164 whatever a stream carries names its task, its context and who speaks", bed, async (caller) => {
    const { frames } = await collect(caller.stream("SendStreamingMessage", send("talk")));
    const { task } = frames[0] as { task: JsonObject };
    const ids = new Set<unknown>();
    for (const frame of frames.slice(1)) {
      const update = (frame["statusUpdate"] ?? frame["artifactUpdate"]) as JsonObject;
      assert.deepEqual([update["taskId"], update["contextId"]], [task["id"], task["contextId"]]);
      const { message } = update["status"] as { message: JsonObject };
      assert.deepEqual([message["taskId"], message["contextId"], message["role"]], [task["id"], task["contextId"], "ROLE_AGENT"]);
      ids.add(message["messageId"]);
    }
    assert.equal(ids.size, frames.length - 1);
    assert.ok(!ids.has("") && !ids.has(undefined));
    return frames;
  });

  everywhere("R-018 returnImmediately changes nothing in a stream", bed, async (caller) => {
    const asked = send("complete", { configuration: { returnImmediately: true } });
    const { frames, end } = await collect(caller.stream("SendStreamingMessage", asked));
    assert.deepEqual([frames.map(brief), end], [["task SUBMITTED", "status WORKING", "artifact a", "status COMPLETED"], "clean"]);
    return frames;
  });
});

suite("a list of many tasks", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("R-051 R-270 shows fifty where no number was asked for", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const sends = Array.from({ length: MANY }, () => caller.unary("SendMessage", send("return", { message: { contextId } })));
    await Promise.all(sends);
    const { message: page } = await caller.unary("ListTasks", { contextId });
    assert.deepEqual([(page["tasks"] as unknown[]).length, page["pageSize"], page["totalSize"]], [50, 50, MANY]);
    const { message: rest } = await caller.unary("ListTasks", { contextId, pageToken: page["nextPageToken"] as string });
    assert.deepEqual([(rest["tasks"] as unknown[]).length, rest["nextPageToken"]], [1, undefined]);
    return undefined;
  });
});
