import assert from "node:assert/strict";
import { toBinary } from "@bufbuild/protobuf";
import { TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { TurnAborted } from "../../src/core/agent.ts";
import { TaskError } from "../../src/core/errors.ts";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import { aborted, agentOf, content, Gate, history, saidBy, stateName, text } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore(
  "what would take the task beyond maxTaskBytes ends it FAILED with that cause; earlier content is kept, the turn aborted",
  async (start) => {
    const left = new Gate();
    let reason: unknown;
    const agent = agentOf(async function* ({ signal }) {
      try {
        for (let count = 0; count < 100; count += 1) yield text("a", "0123456789".repeat(100), count > 0);
        await aborted(signal);
      } finally {
        reason = signal.reason;
        left.open();
      }
    });
    await using harness = await start(agent, { maxTaskBytes: 20_000 });
    const handle = await harness.send("go");
    const task = await handle.task();
    assert.equal(stateName(task), "FAILED");
    assert.match(saidBy(task), /larger than 20000 bytes/);
    const kept = content(task, "a").length;
    assert.ok(kept >= 18_000 && kept <= 20_000, `${kept}`);
    await left.opened;
    assert.ok(reason instanceof TurnAborted && reason.abortCause === "failed");
  },
);

onEachStore("an artifact that is replaced counts once, however often it is sent", async (start) => {
  const agent = agentOf(async function* () {
    for (let count = 0; count < 200; count += 1) yield text("a", `${count}`.padStart(5000, "x"));
  });
  await using harness = await start(agent, { maxTaskBytes: 20_000 });
  const task = await (await harness.send("go")).task();
  assert.equal(stateName(task), "COMPLETED");
  assert.equal(content(task, "a").length, 5000);
});

onEachStore("a task that is full to the brim still ends", async (start) => {
  for (let spare = 0; spare < 300; spare += 25) {
    const agent = agentOf(async function* ({ task }) {
      const { length } = toBinary(TaskSchema, task);
      yield text("a", "x".repeat(4000 - length - spare));
    });
    await using harness = await start(agent, { maxTaskBytes: 4000 });
    const task = await (await harness.send("go")).task();
    assert.ok(["COMPLETED", "FAILED"].includes(stateName(task)));
  }
});

onEachStore("a terminal message that is too large itself ends the task FAILED", async (start) => {
  const agent = agentOf(async function* () {
    yield text("a", "kept");
    yield completed("x".repeat(10_000));
  });
  await using harness = await start(agent, { maxTaskBytes: 5000 });
  const task = await (await harness.send("go")).task();
  assert.equal(stateName(task), "FAILED");
  assert.equal(content(task, "a"), "kept");
});

onEachStore("a send or a follow-up that would make the task too large is refused before anything is stored", async (start) => {
  const tooLarge = (error: unknown): boolean => error instanceof TaskError && error.reason === "MESSAGE_TOO_LARGE";
  const agent = agentOf(async function* () {
    yield inputRequired("more?");
  });
  await using harness = await start(agent, { maxTaskBytes: 5000 });
  await assert.rejects(() => harness.send("x".repeat(6000)), tooLarge);
  const handle = await harness.send("x".repeat(2000));
  await handle.task();
  await assert.rejects(() => handle.followUp("x".repeat(4000)), tooLarge);
  assert.equal(stateName(await harness.read(handle.taskId)), "INPUT_REQUIRED");
});

onEachStore("R-061 R-063 history keeps the latest historyLimit messages", async (start) => {
  const agent = agentOf(async function* () {
    for (let count = 0; count < 20; count += 1) yield working(`${count}`);
    yield completed("end");
  });
  await using harness = await start(agent, { historyLimit: 5 });
  const task = await (await harness.send("go")).task();
  assert.deepEqual(history(task), ["15", "16", "17", "18", "19"]);
  assert.equal(saidBy(task), "end");
});

onEachStore("a long task is checkpointed and trimmed, and read back whole", async (start) => {
  const agent = agentOf(async function* () {
    for (let count = 0; count < 5000; count += 1) yield text("a", `${count},`, count > 0);
  });
  await using harness = await start(agent, { windowEntries: 100 });
  const handle = await harness.send("go");
  const whole = Array.from({ length: 5000 }, (_, count) => `${count},`).join("");
  assert.equal(content(await handle.task(), "a"), whole);
  const meta = await harness.storage.meta(handle.taskId);
  assert.ok((meta?.firstOffset ?? 0) > 2000);
  // A stream that began at the start and reads only now: the task's frame stands for what is no longer kept.
  const frames: string[] = [];
  let folded = "";
  for await (const { payload } of handle.events) {
    frames.push(payload.case ?? "");
    if (payload.case === "task") folded = content(payload.value, "a");
    if (payload.case === "artifactUpdate") folded += payload.value.artifact?.parts[0]?.content.value as string;
  }
  assert.equal(folded, whole);
  assert.equal(frames.filter((frame) => frame === "task").length, 2);
});
