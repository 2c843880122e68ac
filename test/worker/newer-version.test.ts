/** A task that a newer version has written to between its take and its first reading. */
import assert from "node:assert/strict";
import { completed } from "../../src/core/events.ts";
import { newerVersion } from "../../src/core/format.ts";
import type { Lease } from "../../src/core/storage.ts";
import { agentOf, Gate, stateName, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("a lease on a task that cannot be read is given back, which is no attempt, and holds up no other", async (start, t) => {
  const busy = new Gate();
  const began: string[] = [];
  const agent = agentOf(async function* ({ message, attempt, resumed }) {
    const said = textIn(message);
    began.push(`${said} ${attempt} ${resumed}`);
    if (said === "busy") await busy.opened;
    yield completed();
  });
  await using harness = await start(agent, { capacity: 1 });
  const first = await harness.send("busy");
  const left = await harness.send("left");
  const other = await harness.send("other");
  const given: string[] = [];
  const back = new Gate();
  const [release, checkpointOf] = [harness.storage.release.bind(harness.storage), harness.storage.checkpointOf.bind(harness.storage)];
  t.mock.method(harness.storage, "checkpointOf", (taskId: string) =>
    taskId === left.taskId && given.length < 2 ? Promise.reject(newerVersion(taskId)) : checkpointOf(taskId),
  );
  t.mock.method(harness.storage, "release", async (lease: Lease, to: "rest" | "ready", consumed: number) => {
    await release(lease, to, consumed);
    given.push(`${lease.taskId} ${to}`);
    if (given.length === 2) back.open();
  });
  busy.open();
  await back.opened;
  assert.deepEqual(
    given,
    Array.from({ length: 2 }, () => `${left.taskId} ready`),
  );
  const ends = await Promise.all([first, left, other].map(async (handle) => stateName(await handle.task())));
  assert.deepEqual(ends, ["COMPLETED", "COMPLETED", "COMPLETED"]);
  assert.deepEqual(began.toSorted(), ["busy 1 false", "left 1 false", "other 1 false"]);
});
