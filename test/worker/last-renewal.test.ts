/** A renewal that comes after the terminal event. */
import assert from "node:assert/strict";
import type { Lease, Renewal, StoredCheckpoint } from "../../src/core/storage.ts";
import { agentOf, Gate, KeptLog, stateName, text } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

/** A tail of this size is folded into a checkpoint when the task ends. */
const BYTES = 40 * 1024;

onEachStore("a renewal after the terminal event, while the last checkpoint is being written, tells of no lost lease", async (start, t) => {
  const log = new KeptLog();
  const [writing, told, go] = [new Gate(), new Gate(), new Gate()];
  const agent = agentOf(async function* () {
    yield text("a", "x".repeat(BYTES));
  });
  await using harness = await start(agent, { log, renewMs: 10 });
  const { storage } = harness;
  const [checkpoint, renew] = [storage.checkpoint.bind(storage), storage.renew.bind(storage)];
  t.mock.method(storage, "checkpoint", async (taskId: string, lease: Lease | undefined, stored: StoredCheckpoint) => {
    writing.open();
    await go.opened;
    return checkpoint(taskId, lease, stored);
  });
  let fenced = 0;
  t.mock.method(storage, "renew", async (renewals: readonly Renewal[]) => {
    const replies = await renew(renewals);
    fenced += replies.filter(({ is }) => is === "fenced").length;
    if (fenced >= 3) told.open();
    return replies;
  });
  const handle = await harness.send("go");
  await writing.opened;
  await told.opened;
  go.open();
  assert.equal(stateName(await handle.task()), "COMPLETED");
  await harness.drain();
  assert.deepEqual(log.lines, []);
  assert.ok((await storage.checkpointOf(handle.taskId)) !== undefined);
});
