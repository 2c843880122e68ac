import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { brief, collect, everywhere, failureOf, nextFrame, openBed, send, sharedBed, startTask, taskOf } from "../bed.ts";
import { RestCaller } from "../callers/rest.ts";
import { checkFailure } from "../failures.ts";
import { HookedStorage } from "../hooked-storage.ts";

suite("SubscribeToTask", () => {
  const bed = sharedBed();

  everywhere("R-075 P-7 begins with the task as it stands, whoever started it and however", bed, async (caller, { agent }) => {
    const gate = agent.gate();
    const id = await startTask(caller, `chunks ${gate.name}`);
    await gate.reached;
    gate.open(2);
    const one = caller.stream("SubscribeToTask", { id });
    const first = await nextFrame(one);
    assert.match(brief(first), /^task /);
    gate.open();
    const { frames, end } = await collect(one);
    assert.equal(end, "clean");
    assert.equal(brief(frames.at(-1) ?? {}), "status COMPLETED");
    return undefined;
  });

  everywhere(
    "R-037 R-075 R-076 R-080 R-081 SV-04 P-1 carries on from the snapshot without a gap and without a repeat",
    bed,
    async (caller, { agent }) => {
      const gate = agent.gate();
      const sender = caller.stream("SendStreamingMessage", send(`chunks ${gate.name}`));
      const { task } = (await nextFrame(sender)) as { task: { id: string } };
      for (let count = 0; count < 2; count += 1) await nextFrame(sender);
      gate.open();
      assert.equal(brief(await nextFrame(sender)), "artifact log");
      const late = caller.stream("SubscribeToTask", { id: task.id });
      const snapshot = await nextFrame(late);
      const [log] = (snapshot["task"] as { artifacts: { parts: { text: string }[] }[] }).artifacts;
      assert.deepEqual(
        log?.parts.map(({ text }) => text),
        ["one ", "two "],
      );
      gate.open(2);
      const [sent, subscribed] = await Promise.all([collect(sender), collect(late)]);
      assert.deepEqual(subscribed, sent);
      assert.deepEqual(subscribed.frames.map(brief), ["status WORKING", "artifact log", "status COMPLETED"]);
      return [snapshot, subscribed.frames];
    },
  );

  everywhere(
    "R-082 R-083 R-084 R-085 SV-03 P-8 gives two subscribers one sequence; when one leaves, the other goes on",
    bed,
    async (caller, { agent }) => {
      const gate = agent.gate();
      const id = await startTask(caller, `chunks ${gate.name}`);
      await gate.reached;
      await caller.unary("GetTask", { id });
      const streams = [0, 1, 2].map(() => caller.stream("SubscribeToTask", { id }));
      const firsts = await Promise.all(streams.map(nextFrame));
      assert.deepEqual(firsts[1], firsts[0]);
      gate.open();
      const [one, two, three] = streams as [(typeof streams)[0], (typeof streams)[0], (typeof streams)[0]];
      const seen = await Promise.all(streams.map(nextFrame));
      assert.deepEqual([seen[1], seen[2]], [seen[0], seen[0]]);
      three.leave();
      gate.open(2);
      const [rest, other] = await Promise.all([collect(one), collect(two)]);
      assert.deepEqual(other, rest);
      assert.equal(rest.end, "clean");
      return rest.frames;
    },
  );

  everywhere(
    "R-077 R-078 C-02 SV-17 of an interrupted task waits; it stays open across INPUT_REQUIRED and sees the follow-up",
    bed,
    async (caller) => {
      const { id } = taskOf(await caller.unary("SendMessage", send("input")));
      const stream = caller.stream("SubscribeToTask", { id });
      assert.equal(brief(await nextFrame(stream)), "task INPUT_REQUIRED");
      await caller.unary("SendMessage", send("input", { message: { taskId: id } }));
      await caller.unary("SendMessage", send("complete", { message: { taskId: id } }));
      const { frames, end } = await collect(stream);
      assert.deepEqual(frames.map(brief), ["status WORKING", "status INPUT_REQUIRED", "status WORKING", "artifact a", "status COMPLETED"]);
      assert.equal(end, "clean");
      return frames;
    },
  );

  everywhere("R-074 is refused where there is no such task", bed, async (caller) => {
    const failure = await failureOf(caller.stream("SubscribeToTask", { id: crypto.randomUUID() }));
    return checkFailure(caller, failure, "TASK_NOT_FOUND");
  });

  everywhere("R-073 SV-09 is refused where the task has ended, before any frame; GetTask reads it then", bed, async (caller) => {
    const { id } = taskOf(await caller.unary("SendMessage", send("complete")));
    const { frames, end } = await collect(caller.stream("SubscribeToTask", { id }));
    assert.deepEqual(frames, []);
    assert.notEqual(end, "clean");
    return end === "clean" ? undefined : checkFailure(caller, end, "UNSUPPORTED_OPERATION");
  });

  test("C-01 SV-10 P-22 over HTTP+JSON is taken by GET as by POST, with the same answers", async () => {
    const { rest, agent, server } = bed();
    const byGet = new RestCaller(server.ports.http, { subscribe: "GET" });
    const gate = agent.gate();
    const id = await startTask(rest, `slow ${gate.name}`);
    await gate.reached;
    await rest.unary("GetTask", { id });
    const streams = [rest, byGet].map((caller) => caller.stream("SubscribeToTask", { id }));
    await Promise.all(streams.map(nextFrame));
    gate.open();
    const [one, two] = await Promise.all(streams.map(collect));
    assert.deepEqual(two, one);
    const failures = [rest, byGet].map((caller) => failureOf(caller.stream("SubscribeToTask", { id })));
    assert.deepEqual(await failures[1], await failures[0]);
    checkFailure(rest, await (failures[1] as Promise<never>), "UNSUPPORTED_OPERATION");
    byGet.close();
  });
});

test("R-077 C-37 a task that ends while somebody subscribes is shown in its terminal state, and the stream ends", async () => {
  const storage = new HookedStorage();
  await using bed = await openBed({ storage });
  for (const caller of bed.callers) {
    const gate = bed.agent.gate();
    const sender = caller.stream("SendStreamingMessage", send(`slow ${gate.name}`));
    const { task } = (await nextFrame(sender)) as { task: { id: string } };
    await nextFrame(sender);
    // The task's record is read, shows WORKING, and only then the task ends.
    storage.afterMeta = async () => {
      storage.afterMeta = undefined;
      gate.open();
      await collect(sender);
    };
    const { frames, end } = await collect(caller.stream("SubscribeToTask", { id: task.id }));
    assert.deepEqual([frames.map(brief), end], [["task COMPLETED"], "clean"], caller.binding);
  }
});
