/** What goes into one append. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Batch, Lease } from "../../src/core/storage.ts";
import { agentOf, content, Gate, history, shownLog, stateName, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("a turn that waits for nothing is one append, its end included", async (start, t) => {
  const agent = agentOf(async function* () {
    yield text("a", "one", false);
    yield text("a", "two", true);
  });
  await using harness = await start(agent);
  const append = t.mock.method(harness.storage, "append");
  const handle = await harness.send("go");
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.equal(append.mock.callCount(), 1);
  assert.deepEqual(shownLog(await harness.log(handle.taskId)).length, 6);
});

onEachStore(
  "where a message came before the end, what the turn had yielded is stored without the end, once, and another turn follows",
  async (start, t) => {
    const go = new Gate();
    const agent = agentOf(
      async function* ({ message }) {
        await go.opened;
        yield text("a", `(${textIn(message)})`, textIn(message) !== "one");
      },
      { acceptsMessages: true },
    );
    await using harness = await start(agent);
    const append = harness.storage.append.bind(harness.storage);
    const handle = await harness.send("one");
    let followed = false;
    t.mock.method(harness.storage, "append", async (lease: Lease, batch: Batch) => {
      // The message is in the log before the batch that ends the turn.
      if (!followed) {
        followed = true;
        assert.equal(batch.unlessPending, true);
        await handle.followUp("two");
      }
      return append(lease, batch);
    });
    go.open();
    const task = await handle.task();
    assert.equal(stateName(task), "COMPLETED");
    assert.equal(content(task, "a"), "(one)(two)");
    assert.deepEqual(history(task), ["one", "two"]);
  },
);

onEachStore("a turn that follows another begins with all that the other yielded", async (start, t) => {
  const go = new Gate();
  const seen: unknown[] = [];
  const agent = agentOf(
    async function* ({ message, task }) {
      seen.push(content(task, "a"));
      await go.opened;
      yield text("a", `(${textIn(message)})`, textIn(message) !== "one");
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await handle.followUp("two");
  const append = harness.storage.append.bind(harness.storage);
  t.mock.method(harness.storage, "append", async (lease: Lease, batch: Batch) => {
    await delay(20);
    return append(lease, batch);
  });
  go.open();
  assert.equal(content(await handle.task(), "a"), "(one)(two)");
  assert.deepEqual(seen, ["", "(one)"]);
});
