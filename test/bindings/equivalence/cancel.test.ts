import assert from "node:assert/strict";
import { suite } from "node:test";
import { brief, collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask, stateOf, taskOf } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { HookedStorage } from "../hooked-storage.ts";

suite("CancelTask", () => {
  const bed = sharedBed();

  everywhere("R-066 P-31 aborts the turn and answers with the task CANCELED", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `slow ${gate.name}`);
    const turn = await gate.reached;
    const { message } = await caller.unary("CancelTask", { id });
    assert.equal(stateOf(message), "TASK_STATE_CANCELED");
    assert.ok(turn.signal.aborted);
    return message;
  });

  everywhere("R-066 ends an interrupted task that nobody runs", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    const { message } = await caller.unary("CancelTask", { id });
    assert.equal(stateOf(message), "TASK_STATE_CANCELED");
    return message;
  });

  everywhere("R-031 R-077 ends every stream of the task, and the waits for it", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const request = send(`slow ${gate.name}`);
    const stream = caller.stream("SendStreamingMessage", request);
    const { task } = (await nextFrame(stream)) as { task: { id: string } };
    assert.equal(brief(await nextFrame(stream)), "status WORKING");
    const wait = caller.unary("SendMessage", request);
    await caller.unary("CancelTask", { id: task.id });
    const rest = await collect(stream);
    assert.deepEqual([rest.frames.map(brief), rest.end], [["status CANCELED"], "clean"]);
    const waited = taskOf(await wait);
    assert.equal(stateOf(waited), "TASK_STATE_CANCELED");
    return [rest.frames, waited];
  });

  for (const text of ["complete", "fail", "reject"]) {
    everywhere(`R-067 is refused where the task has ended: ${text}`, bed, async (caller) => {
      const { id } = taskOf(await caller.unary("SendMessage", send(text)));
      return checkFailure(caller, await failureOf(caller.unary("CancelTask", { id })), "TASK_NOT_CANCELABLE");
    });
  }

  everywhere("R-067 C-21 is refused once the task is CANCELED", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("input")));
    await caller.unary("CancelTask", { id });
    return checkFailure(caller, await failureOf(caller.unary("CancelTask", { id })), "TASK_NOT_CANCELABLE");
  });

  everywhere("R-068 is refused where there is no such task", bed, async (caller) => {
    const failure = await failureOf(caller.unary("CancelTask", { id: crypto.randomUUID() }));
    return checkFailure(caller, failure, "TASK_NOT_FOUND");
  });
});

suite("CancelTask of an agent that does not listen", () => {
  const bed = sharedBed({ cancelGraceMs: 40 });

  everywhere("P-38 ends CANCELED when the grace is over", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `deaf ${gate.name}`);
    await gate.reached;
    const { message } = await caller.unary("CancelTask", { id });
    assert.equal(stateOf(message), "TASK_STATE_CANCELED");
    gate.open();
    return message;
  });
});

suite("a cancel under way", () => {
  const storage = new HookedStorage();
  const bed = sharedBed({ cancelGraceMs: 30_000, storage });

  everywhere("R-069 C-21 P-32 is joined by a second one; what the agent ends with in the grace wins", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `deaf ${gate.name}`);
    const turn = await gate.reached;
    const aborted = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
    const first = caller.unary("CancelTask", { id });
    await aborted;
    // A cancel reads the task's record twice: to see who may see it, then to see whether it may be canceled.
    const joined = Promise.withResolvers<void>();
    let reads = 0;
    storage.afterMeta = async () => {
      reads += 1;
      if (reads === 2) joined.resolve();
    };
    const second = caller.unary("CancelTask", { id });
    await joined.promise;
    storage.afterMeta = undefined;
    gate.open();
    const [one, two] = await Promise.all([first, second]);
    assert.equal(stateOf(one.message), "TASK_STATE_COMPLETED");
    assert.deepEqual(two.message, one.message);
    return [one.message, two.message];
  });
});
