/** Sends with a position, over three bindings: they go on with a task and never begin one. */
import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, everywhere, failureOf, message, nextFrame, send, sharedBed, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { ACTIVE, after, idOf, offsetOf, plain } from "./positions.ts";

suite("a send that comes back with a position", { timeout: 60_000 }, () => {
  const bed = sharedBed();

  everywhere("goes on with the task that its message began, and starts nothing", bed, async (caller, own) => {
    const gate = own.agent.gate();
    const contextId = crypto.randomUUID();
    const request = send(`chunks ${gate.name}`, { message: { contextId } });
    const opened = caller.stream("SendStreamingMessage", request, { headers: ACTIVE });
    const first = await nextFrame(opened);
    const last = idOf(await nextFrame(opened));
    opened.leave();
    const resumed = caller.stream("SendStreamingMessage", request, after(last));
    const blocking = caller.unary("SendMessage", request, after(last));
    gate.open(3);
    const { frames, end } = await collect(resumed);
    assert.equal(end, "clean");
    assert.equal(brief(frames[0] ?? {}), "artifact log");
    assert.deepEqual(frames.map(offsetOf), [4, 5, 6, 7, 8]);
    const { id } = first["task"] as { id: string };
    assert.equal(taskOf(await blocking).id, id);
    const over = await failureOf(caller.stream("SendStreamingMessage", request, after(idOf(frames.at(-1) ?? {}))));
    checkFailure(caller, over, "UNSUPPORTED_OPERATION");
    assert.equal(await countTasks(caller, contextId), 1);
    return plain(frames);
  });

  everywhere("is refused with any other message, and starts nothing", bed, async (caller) => {
    const contextId = crypto.randomUUID();
    const said = message("complete", { contextId });
    const { frames } = await collect(caller.stream("SendStreamingMessage", { message: said }, { headers: ACTIVE }));
    const last = idOf(frames[1] ?? {});
    const elsewhere = crypto.randomUUID();
    const others: JsonObject[] = [
      message("complete", { contextId }),
      { ...said, parts: [{ text: "return" }] },
      { ...said, metadata: { more: true } },
      { ...said, contextId: elsewhere },
      { ...said, taskId: crypto.randomUUID() },
    ];
    const failures = [];
    for (const other of others) {
      const calls = [
        caller.stream("SendStreamingMessage", { message: other }, after(last)),
        caller.unary("SendMessage", { message: other }, after(last)),
      ];
      for (const failure of await Promise.all(calls.map(failureOf)))
        failures.push(checkFailure(caller, failure, "INVALID_ARGUMENT", ["Last-Event-ID"]));
    }
    const unknown = `${crypto.randomUUID()}/3.00000000`;
    failures.push(checkFailure(caller, await failureOf(caller.unary("SendMessage", { message: said }, after(unknown))), "TASK_NOT_FOUND"));
    assert.equal(await countTasks(caller, contextId), 1);
    assert.equal(await countTasks(caller, elsewhere), 0);
    return failures;
  });

  everywhere("ends where its stream has ended: at the question it has seen, or after it", bed, async (caller) => {
    const request = send("input");
    const { frames } = await collect(caller.stream("SendStreamingMessage", request, { headers: ACTIVE }));
    assert.equal(brief(frames.at(-1) ?? {}), "status INPUT_REQUIRED");
    const outcomes = [];
    for (const last of [frames.at(-1), frames[0]]) {
      const { frames: rest, end } = await collect(caller.stream("SendStreamingMessage", request, after(idOf(last ?? {}))));
      outcomes.push({ rest: rest.map(brief), end });
    }
    const stranger = `${(frames[0] as { task: { id: string } }).task.id}/3.ffffffff`;
    const { frames: whole, end } = await collect(caller.stream("SendStreamingMessage", request, after(stranger)));
    outcomes.push({ rest: whole.map(brief), end });
    assert.deepEqual(outcomes, [
      { rest: [], end: "clean" },
      { rest: ["status INPUT_REQUIRED"], end: "clean" },
      { rest: ["task INPUT_REQUIRED"], end: "clean" },
    ]);
    return undefined;
  });
});

/** How many tasks the context has. */
async function countTasks(caller: Caller, contextId: string): Promise<number> {
  return ((await caller.unary("ListTasks", { contextId })).message["totalSize"] ?? 0) as number;
}
