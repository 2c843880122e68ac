import assert from "node:assert/strict";
import { TaskError } from "../../src/core/errors.ts";
import type { Batch, Lease } from "../../src/core/storage.ts";
import { agentOf, content, shownLog, stateName, text } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

const away = (): TaskError => new TaskError("STORE_UNAVAILABLE", "the store is away");

onEachStore(
  "a store that is away, or whose replies are lost, loses nothing and repeats nothing: the turn goes on when it is back",
  async (start, t) => {
    const agent = agentOf(async function* (turn) {
      for (let count = 0; count < 6; count += 1) {
        yield text("a", `${count}`, count > 0);
        // Each in an append of its own: not before the last one is in the log.
        while (content(turn.task, "a").length <= count) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await using harness = await start(agent);
    const { storage } = harness;
    const append = storage.append.bind(storage);
    let calls = 0;
    t.mock.method(storage, "append", async (lease: Lease, batch: Batch) => {
      calls += 1;
      // Not carried out; carried out and not answered; answered.
      if (calls % 3 === 1) throw away();
      const entries = await append(lease, batch);
      if (calls % 3 === 2) throw away();
      return entries;
    });
    const handle = await harness.send("go");
    const task = await handle.task();
    assert.equal(stateName(task), "COMPLETED");
    assert.equal(content(task, "a"), "012345");
    assert.equal(shownLog(await harness.log(handle.taskId)).length, 10);
    assert.ok(calls >= 18);
  },
);

onEachStore("a checkpoint that cannot be stored does the turn no harm", async (start, t) => {
  const agent = agentOf(async function* () {
    for (let count = 0; count < 600; count += 1) yield text("a", "x", count > 0);
  });
  await using harness = await start(agent);
  const checkpoint = t.mock.method(harness.storage, "checkpoint", () => Promise.reject(away()));
  const task = await (await harness.send("go")).task();
  assert.equal(stateName(task), "COMPLETED");
  assert.equal(content(task, "a").length, 600);
  assert.ok(checkpoint.mock.callCount() > 0);
});
