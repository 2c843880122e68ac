import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";

suite("a blocking send", () => {
  const bed = sharedBed();

  for (const [text, state] of Object.entries({
    complete: "TASK_STATE_COMPLETED",
    return: "TASK_STATE_COMPLETED",
    reject: "TASK_STATE_REJECTED",
    fail: "TASK_STATE_FAILED",
    throw: "TASK_STATE_FAILED",
    invalid: "TASK_STATE_FAILED",
    input: "TASK_STATE_INPUT_REQUIRED",
    auth: "TASK_STATE_AUTH_REQUIRED",
    talk: "TASK_STATE_COMPLETED",
  })) {
    everywhere(`R-015 R-039 R-143 C-03 C-65 P-34 waits until the task is at rest: ${text}`, bed, async (caller) => {
      const reply = await caller.unary("SendMessage", send(text));
      const task = taskOf(reply);
      assert.equal(stateOf(task), state);
      assert.equal(reply.headers.get("a2a-task-id"), task.id);
      const read = await caller.unary("GetTask", { id: task.id });
      assert.deepEqual(read.message, task);
      return reply.message;
    });
  }

  everywhere("C-65 tells nothing of what broke inside the agent", bed, async (caller) => {
    const task = taskOf(await caller.unary("SendMessage", send("throw")));
    assert.ok(!JSON.stringify(task).includes("secret"));
    return task;
  });

  everywhere("R-015 R-016 goes on waiting while the task works, and carries all its artifacts", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    let answered = false;
    const reply = caller.unary("SendMessage", send(`chunks ${gate.name}`)).finally(() => (answered = true));
    await gate.reached;
    gate.open(2);
    assert.equal(answered, false);
    gate.open();
    const task = taskOf(await reply);
    const [log] = task["artifacts"] as [JsonObject];
    assert.deepEqual(log["parts"], [{ text: "one " }, { text: "two " }, { text: "three" }]);
    return task;
  });

  everywhere("R-145 R-146 R-147 C-40 keeps a context that the caller names and makes one where it names none", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const named = taskOf(await caller.unary("SendMessage", send("complete", { message: { contextId } })));
    assert.equal(named.contextId, contextId);
    const made = taskOf(await caller.unary("SendMessage", send("complete")));
    assert.match(made.contextId, /^[0-9a-f-]{36}$/);
    return [named, made];
  });

  everywhere("R-023 SV-14 PR-04 answers a repeat with the first task", bed, async (caller) => {
    const request = send("complete");
    const first = await caller.unary("SendMessage", request);
    const again = await caller.unary("SendMessage", request);
    assert.deepEqual(again.message, first.message);
    const other = taskOf(
      await caller.unary("SendMessage", { message: { ...(request["message"] as JsonObject), parts: [{ text: "return" }] } }),
    );
    assert.notEqual(other.id, taskOf(first).id);
    return [first.message, again.message, other];
  });

  everywhere("R-006 R-177 R-275 keeps every kind of part and all metadata as they came", bed, async (caller) => {
    const parts = [
      { text: "complete" },
      { data: { a: [1, null, "x", { b: false }], n: 1.5 } },
      { data: null },
      { raw: "AAEC/w==", filename: "four.bin" },
      { url: "https://example.com/x", metadata: { k: ["v"] } },
    ];
    const said = { parts, metadata: { deep: { er: [[]] } }, extensions: ["urn:x"], referenceTaskIds: ["t-0"] };
    const task = taskOf(await caller.unary("SendMessage", send("", { message: said })));
    const [first] = task["history"] as [JsonObject];
    assert.deepEqual(first["parts"], parts);
    assert.deepEqual(first["metadata"], said.metadata);
    return task;
  });
});

suite("a send that returns immediately", () => {
  const bed = sharedBed();

  everywhere(
    "R-011 R-017 R-078 P-7 P-33 PR-11 shows the task SUBMITTED while the agent is silent; it can be read, followed and canceled at once",
    bed,
    async (caller, { agent }) => {
      const gate = agent.gate();
      const reply = await caller.unary("SendMessage", send(`silent ${gate.name}`, { configuration: { returnImmediately: true } }));
      const task = taskOf(reply);
      assert.equal(stateOf(task), "TASK_STATE_SUBMITTED");
      assert.equal(reply.headers.get("a2a-task-id"), task.id);
      const read = await caller.unary("GetTask", { id: task.id });
      assert.deepEqual(read.message, task);
      const stream = caller.stream("SubscribeToTask", { id: task.id });
      assert.deepEqual(await nextFrame(stream), { task });
      const canceled = await caller.unary("CancelTask", { id: task.id });
      assert.equal(stateOf(canceled.message), "TASK_STATE_CANCELED");
      assert.ok((await gate.reached).signal.aborted);
      const rest = await collect(stream);
      assert.deepEqual([rest.frames.map(brief), rest.end], [["status CANCELED"], "clean"]);
      return [reply.message, canceled.message, rest.frames];
    },
  );

  everywhere("of a repeat shows the task as it is now", bed, async (caller) => {
    const request = send("complete", { configuration: { returnImmediately: true } });
    const first = taskOf(await caller.unary("SendMessage", request));
    assert.equal(stateOf(first), "TASK_STATE_SUBMITTED");
    await collect(caller.stream("SendStreamingMessage", request));
    const again = taskOf(await caller.unary("SendMessage", request));
    assert.equal(again.id, first.id);
    assert.equal(stateOf(again), "TASK_STATE_COMPLETED");
    return [first, again];
  });
});

suite("a streaming send", () => {
  const bed = sharedBed();
  const WORKING_FIRST = ["task SUBMITTED", "status WORKING"];
  const cases: Readonly<Record<string, readonly string[]>> = {
    complete: [...WORKING_FIRST, "artifact a", "status COMPLETED"],
    return: ["task SUBMITTED", "status COMPLETED"],
    reject: ["task SUBMITTED", "status REJECTED"],
    fail: ["task SUBMITTED", "status FAILED"],
    throw: [...WORKING_FIRST, "status FAILED"],
    invalid: ["task SUBMITTED", "status FAILED"],
    input: ["task SUBMITTED", "status INPUT_REQUIRED"],
    talk: [...WORKING_FIRST, "status WORKING", "status COMPLETED"],
  };
  for (const [text, expected] of Object.entries(cases)) {
    everywhere(`R-027 R-030 R-031 R-035 R-297 C-36 SV-02 carries the task, then every event, and ends: ${text}`, bed, async (caller) => {
      const stream = caller.stream("SendStreamingMessage", send(text));
      const { frames, end } = await collect(stream);
      const headers = await stream.headers;
      assert.deepEqual(frames.map(brief), expected);
      assert.equal(end, "clean");
      const { task } = frames[0] as { task: JsonObject };
      assert.equal(headers.get("a2a-task-id"), task["id"]);
      assert.equal((task["history"] as JsonObject[]).length, 1);
      return frames;
    });
  }

  everywhere("R-032 SV-13 delivers each event as it comes", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const stream = caller.stream("SendStreamingMessage", send(`chunks ${gate.name}`));
    const seen: JsonObject[] = [];
    const take = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 1) seen.push(await nextFrame(stream));
    };
    await take(3);
    for (const count of [1, 1, 2]) {
      gate.open();
      await take(count);
    }
    assert.deepEqual(await collect(stream), { frames: [], end: "clean" });
    assert.deepEqual(seen.map(brief), [
      "task SUBMITTED",
      "status WORKING",
      "artifact log",
      "artifact log",
      "status WORKING",
      "artifact log",
      "status COMPLETED",
    ]);
    return seen;
  });

  everywhere("R-032 PR-11 sends its first frame while the agent is silent", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const stream = caller.stream("SendStreamingMessage", send(`silent ${gate.name}`));
    assert.equal(brief(await nextFrame(stream)), "task SUBMITTED");
    await gate.reached;
    gate.open();
    const { frames, end } = await collect(stream);
    assert.deepEqual([frames.map(brief), end], [["status COMPLETED"], "clean"]);
    return frames;
  });

  everywhere(
    "R-180 R-181 C-02 stays open at AUTH_REQUIRED: the credential comes out of band and the turn goes on",
    bed,
    async (caller, { agent }) => {
      const gate = agent.gate();
      const stream = caller.stream("SendStreamingMessage", send(`auth-then-on ${gate.name}`));
      const first = [await nextFrame(stream), await nextFrame(stream)];
      assert.deepEqual(first.map(brief), ["task SUBMITTED", "status AUTH_REQUIRED"]);
      await gate.reached;
      gate.open();
      const { frames, end } = await collect(stream);
      assert.deepEqual([frames.map(brief), end], [["status WORKING", "status COMPLETED"], "clean"]);
      return [first, frames];
    },
  );

  everywhere("of a repeat starts with the task as it is now and ends where the first stream would have", bed, async (caller) => {
    const done = send("complete");
    await caller.unary("SendMessage", done);
    const ended = await collect(caller.stream("SendStreamingMessage", done));
    assert.deepEqual([ended.frames.map(brief), ended.end], [["task COMPLETED"], "clean"]);
    const asking = send("input");
    await caller.unary("SendMessage", asking);
    const waiting = await collect(caller.stream("SendStreamingMessage", asking));
    assert.deepEqual([waiting.frames.map(brief), waiting.end], [["task INPUT_REQUIRED"], "clean"]);
    return [ended.frames, waiting.frames];
  });

  everywhere("R-082 of a repeat joins a task that still runs", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const request = send(`slow ${gate.name}`);
    const first = caller.stream("SendStreamingMessage", request);
    assert.deepEqual([brief(await nextFrame(first)), brief(await nextFrame(first))], ["task SUBMITTED", "status WORKING"]);
    const second = caller.stream("SendStreamingMessage", request);
    assert.equal(brief(await nextFrame(second)), "task WORKING");
    gate.open();
    const rests = await Promise.all([first, second].map(collect));
    assert.deepEqual(rests[0], rests[1]);
    return rests[0]?.frames;
  });
});

suite("an agent that answers directly", () => {
  const bed = sharedBed({ replyTimeoutMs: 50 });

  everywhere(
    "R-009 R-010 R-018 R-029 R-033 R-146 R-162 R-164 gives a Message and no task, whatever the way to wait",
    bed,
    async (caller) => {
      const contextId = crypto.randomUUID();
      const request = send("reply hello", { message: { contextId } });
      const blocking = await caller.unary("SendMessage", request);
      const immediate = await caller.unary("SendMessage", send("reply hello", { configuration: { returnImmediately: true } }));
      const { frames, end } = await collect(caller.stream("SendStreamingMessage", send("reply hello")));
      assert.deepEqual([frames.map(brief), end], [["message"], "clean"]);
      const { message } = blocking.message as { message: JsonObject };
      assert.equal(message["role"], "ROLE_AGENT");
      assert.equal(message["contextId"], contextId);
      assert.equal(message["taskId"], undefined);
      assert.equal(blocking.headers.get("a2a-task-id"), undefined);
      const list = await caller.unary("ListTasks", { contextId });
      assert.equal(list.message["totalSize"], undefined);
      return [blocking.message, immediate.message, frames];
    },
  );

  for (const [text, reason] of [
    ["reply-invalid", "INVALID_AGENT_RESPONSE"],
    ["reply-throw", "INTERNAL"],
    ["reply-never", "DEADLINE_EXCEEDED"],
  ] as const) {
    everywhere(
      `R-254 and fails to is an error, and no task: ${text}`,
      bed,
      async (caller) => {
        const contextId = crypto.randomUUID();
        const request = send(text, { message: { contextId } });
        const unary = await failureOf(caller.unary("SendMessage", request));
        const streaming = await failureOf(caller.stream("SendStreamingMessage", request));
        assert.ok(!unary.message.includes("secret"));
        const list = await caller.unary("ListTasks", { contextId });
        assert.equal(list.message["totalSize"], undefined);
        return [checkFailure(caller, unary, reason), checkFailure(caller, streaming, reason)];
      },
      reason === "DEADLINE_EXCEEDED" ? { behindFront: "it begins a task that waits for the upstream" } : {},
    );
  }

  everywhere("R-026 is not asked about a task that exists", bed, async (caller) => {
    const id = await startTask(caller, "input");
    const task = taskOf(await caller.unary("SendMessage", send("complete", { message: { taskId: id } })));
    assert.equal(task.id, id);
    return task;
  });
});
