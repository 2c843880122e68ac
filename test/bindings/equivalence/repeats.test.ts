import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, everywhere, nextFrame, send, sharedBed, stateOf, taskOf } from "../bed.ts";

suite("the same message sent again", () => {
  const bed = sharedBed();

  everywhere("R-023 SV-14 PR-04 at the same time begins one task", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const request = send("complete", { message: { contextId } });
    const replies = await Promise.all(Array.from({ length: 8 }, () => caller.unary("SendMessage", request)));
    for (const { message } of replies) assert.deepEqual(message, replies[0]?.message);
    assert.equal((await caller.unary("ListTasks", { contextId })).message["totalSize"], 1);
    return replies[0]?.message;
  });

  everywhere("SV-14 in another way to wait, with another configuration, is a repeat still", bed, async (caller) => {
    const request = send("complete");
    const first = taskOf(await caller.unary("SendMessage", request));
    const again = taskOf(await caller.unary("SendMessage", { ...request, configuration: { historyLength: 0 }, metadata: { try: 2 } }));
    const { history, ...rest } = first;
    assert.ok(history !== undefined);
    assert.deepEqual(again, rest);
    return undefined;
  });

  everywhere("with its members in another order is a repeat still", bed, async (caller) => {
    const { message } = send("complete", { message: { metadata: { a: 1, b: { c: 2, d: 3 } } } }) as { message: JsonObject };
    const other = { metadata: { b: { d: 3, c: 2 }, a: 1 } };
    const first = taskOf(await caller.unary("SendMessage", { message }));
    const again = taskOf(
      await caller.unary("SendMessage", { message: Object.fromEntries(Object.entries({ ...message, ...other }).toReversed()) }),
    );
    assert.equal(again.id, first.id);
    return undefined;
  });

  everywhere("SV-14 over another binding is a repeat still", bed, async (caller, { callers }) => {
    const request = send("complete", { message: { metadata: { n: 1.5, s: "ü", l: [null, true] } } });
    const first = taskOf(await caller.unary("SendMessage", request));
    for (const other of callers) assert.equal(taskOf(await other.unary("SendMessage", request)).id, first.id);
    return undefined;
  });

  everywhere("in another context is another message", bed, async (caller) => {
    const request = send("complete") as { message: JsonObject };
    const first = taskOf(await caller.unary("SendMessage", request));
    const other = taskOf(await caller.unary("SendMessage", { message: { ...request.message, contextId: first.contextId } }));
    assert.notEqual(other.id, first.id);
    return undefined;
  });

  everywhere("after the task was ended by a cancel is answered, not refused", bed, async (caller) => {
    const request = send("input");
    const { id } = taskOf(await caller.unary("SendMessage", request));
    await caller.unary("CancelTask", { id });
    const again = taskOf(await caller.unary("SendMessage", request));
    assert.equal(stateOf(again), "TASK_STATE_CANCELED");
    const { frames, end } = await collect(caller.stream("SendStreamingMessage", request));
    assert.deepEqual([frames.map(brief), end], [["task CANCELED"], "clean"]);
    return frames;
  });
});

suite("dedupe mode running", () => {
  const bed = sharedBed({ dedupe: { mode: "running" } });

  everywhere("joins a task that is not at rest, and no other", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const request = send(`slow ${gate.name}`);
    const stream = caller.stream("SendStreamingMessage", request);
    const { task } = (await nextFrame(stream)) as { task: { id: string } };
    await nextFrame(stream);
    const joined = caller.stream("SendStreamingMessage", request);
    assert.equal(((await nextFrame(joined)) as { task: { id: string } }).task.id, task.id);
    gate.open(2);
    await Promise.all([stream, joined].map(collect));
    assert.notEqual(taskOf(await caller.unary("SendMessage", request)).id, task.id);
    return undefined;
  });
});

suite("dedupe mode off", () => {
  const bed = sharedBed({ dedupe: { mode: "off" } });

  everywhere("begins a task for each send, and takes each follow-up", bed, async (caller) => {
    const request = send("input");
    const first = taskOf(await caller.unary("SendMessage", request));
    const second = taskOf(await caller.unary("SendMessage", request));
    assert.notEqual(second.id, first.id);
    const more = send("input", { message: { taskId: first.id } });
    for (let round = 0; round < 2; round += 1) await caller.unary("SendMessage", more);
    const { message } = await caller.unary("GetTask", { id: first.id });
    const said = (message["history"] as JsonObject[]).filter(({ role }) => role === "ROLE_USER");
    assert.equal(said.length, 3);
    return message;
  });
});
