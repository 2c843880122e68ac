/** What an agent leaves for later runs of its turns, and what it hears of tasks that end without one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { JsonObject } from "@bufbuild/protobuf";
import type { CanceledTask } from "../../src/core/agent.ts";
import { completed, inputRequired, memo, working } from "../../src/core/events.ts";
import { aborted, agentOf, content, Gate, read, saidBy, shownLog, stateName, stored, text } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("a memo stands in the log where it was yielded, goes to no reader, and is what the next run is shown", async (start) => {
  const seen: unknown[] = [];
  const agent = agentOf(
    async function* ({ memo: left, signal }) {
      seen.push(left);
      if (left === undefined) {
        yield memo({ at: 1 });
        yield text("a", "one");
        yield memo({ at: 2, more: ["x"] });
        yield text("a", "two", true);
        await aborted(signal);
      }
      yield text("a", " and three", true);
    },
    { resumable: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await stored(harness, handle.taskId, "a += two");
  await harness.takeOver(handle.taskId);
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = one", "a += two", "a +=  and three", "COMPLETED"]);
  assert.deepEqual(seen, [undefined, { at: 2, more: ["x"] }]);
  const log = shownLog(await harness.log(handle.taskId));
  assert.deepEqual(log.slice(2, 6), ["(memo)", "WORKING", "a = one", "(memo)"]);
});

onEachStore("a memo outlives checkpoints, the end of its turn and the wait for the caller", async (start) => {
  const seen: unknown[] = [];
  const agent = agentOf(async function* ({ memo: left }) {
    seen.push(left);
    if (left !== undefined) {
      yield completed("again");
      return;
    }
    yield memo({ id: "u-1" });
    for (let count = 0; count < 600; count += 1) yield text("a", "x".repeat(1000), count > 0);
    yield inputRequired("what now?");
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  assert.equal(stateName(await handle.task()), "INPUT_REQUIRED");
  assert.notEqual(await harness.storage.checkpointOf(handle.taskId), undefined);
  const next = await handle.followUp("on");
  assert.equal(saidBy(await next.task()), "again");
  assert.deepEqual(seen, [undefined, { id: "u-1" }]);
});

onEachStore("turn.memo shows what the turn itself has left, as soon as it is stored", async (start) => {
  const shownMemo = Promise.withResolvers<JsonObject | undefined>();
  const go = new Gate();
  const agent = agentOf(async function* (turn) {
    yield memo({ step: 1 });
    yield working("left");
    await go.opened;
    shownMemo.resolve(turn.memo);
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await stored(harness, handle.taskId, "WORKING: left");
  go.open();
  assert.deepEqual(await shownMemo.promise, { step: 1 });
  await handle.task();
});

onEachStore("a memo that is no JSON object, or larger than 64 kB, ends the task as an invalid response of the agent", async (start) => {
  for (const value of [{ text: "x".repeat(65_536) }, "text" as unknown as JsonObject, undefined as unknown as JsonObject, { n: NaN }]) {
    const agent = agentOf(async function* () {
      yield memo(value);
    });
    await using harness = await start(agent);
    const task = await (await harness.send("go")).task();
    assert.equal(stateName(task), "FAILED");
    assert.match(saidBy(task), /InvalidAgentResponse/);
  }
});

onEachStore("what reply leaves is the memo of the first turn, stored with the task, and its context is that of the task", async (start) => {
  const seen: unknown[] = [];
  let context = "";
  const agent = agentOf(
    async function* ({ memo: left, contextId }) {
      seen.push(left, contextId);
      yield text("a", "done");
    },
    {
      reply: async ({ contextId }) => {
        context = contextId;
        return { memo: { upstream: "u-7" } };
      },
    },
  );
  await using harness = await start(agent);
  const handle = await harness.send("go");
  assert.equal(content(await handle.task(), "a"), "done");
  assert.deepEqual(seen, [{ upstream: "u-7" }, context]);
  assert.equal(handle.contextId, context);
});

onEachStore("an agent is told of a task that was canceled while it waited for its caller, once, with its memo", async (start) => {
  const told: CanceledTask[] = [];
  const heard = new EventTarget();
  const agent = agentOf(
    async function* () {
      yield memo({ id: "u-1" });
      yield inputRequired("what now?");
    },
    {
      canceled: async (task) => {
        told.push(task);
        heard.dispatchEvent(new Event("told"));
        throw new Error("and this harms nobody");
      },
    },
  );
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  // The turn has returned: nobody owns the task.
  while ((await harness.storage.meta(handle.taskId))?.leased === true) await new Promise((resolve) => setImmediate(resolve));
  const heardOnce = once(heard, "told");
  assert.equal(stateName(await handle.cancel({ principal: "anonymous", metadata: { why: "enough" } })), "CANCELED");
  await heardOnce;
  const { taskId, contextId } = handle;
  assert.equal(told.length, 1);
  const [{ memo: left, principal, metadata, ...about } = assert.fail("it was told")] = told;
  assert.deepEqual(
    [about.taskId, about.contextId, left, principal, metadata],
    [taskId, contextId, { id: "u-1" }, "anonymous", { why: "enough" }],
  );
});

onEachStore("an agent is told of a canceled task that a new owner ends instead of running it", async (start) => {
  const told = Promise.withResolvers<CanceledTask>();
  const agent = agentOf(
    async function* ({ signal }) {
      yield memo({ id: "u-2" });
      yield working("busy");
      await aborted(signal);
      // Deaf to everything: only the end of its lease ends it.
      await new Promise(() => undefined);
    },
    { resumable: true, canceled: async (task) => told.resolve(task) },
  );
  await using harness = await start(agent, { cancelGraceMs: 600_000, renewMs: 60_000 });
  const handle = await harness.send("go");
  await stored(harness, handle.taskId, "WORKING: busy");
  const canceling = harness.cancel(handle.taskId).catch(() => undefined);
  await stored(harness, handle.taskId, "(cancel)");
  await harness.takeOver(handle.taskId);
  assert.deepEqual((await told.promise).memo, { id: "u-2" });
  assert.equal(stateName(await handle.task()), "CANCELED");
  await canceling;
});
