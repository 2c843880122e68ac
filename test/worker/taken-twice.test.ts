/** A lease that this replica is told of again. */
import assert from "node:assert/strict";
import { completed } from "../../src/core/events.ts";
import type { LeaseRequest, Taken } from "../../src/core/storage.ts";
import type { TaskHandle } from "../../src/testing/index.ts";
import { agentOf, content, Gate, stateName, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("a lease that a take answers again is worked on once", async (start, t) => {
  const gates = new Map(["first", "second", "waiting"].map((name) => [name, new Gate()]));
  const began: string[] = [];
  const running = new Gate();
  const agent = agentOf(
    async function* ({ message }) {
      const said = textIn(message);
      began.push(said);
      yield text("a", `(${said})`);
      if (said === "waiting") running.open();
      await gates.get(said)?.opened;
      yield completed();
    },
    { resumable: true },
  );
  await using harness = await start(agent, { capacity: 2, renewMs: 60_000 });
  const take = harness.storage.take.bind(harness.storage);
  let waiting: TaskHandle | undefined;
  const before: Taken[] = [];
  const answered = new Gate();
  t.mock.method(harness.storage, "take", async (request: LeaseRequest, limit: number) => {
    const taken = await take(request, limit);
    const again = before.splice(0);
    if (again.length > 0) answered.open();
    before.push(...taken.filter(({ lease }) => lease.taskId === waiting?.taskId));
    return [...taken, ...again];
  });
  const first = await harness.send("first");
  const second = await harness.send("second");
  waiting = await harness.send("waiting");
  gates.get("first")?.open();
  await running.opened;
  gates.get("second")?.open();
  await answered.opened;
  // What another run of it would need to begin.
  await second.task();
  assert.equal(stateName(await (await harness.send("next")).task()), "COMPLETED");
  gates.get("waiting")?.open();
  const task = await waiting.task();
  assert.deepEqual([stateName(task), content(task, "a"), stateName(await first.task())], ["COMPLETED", "(waiting)", "COMPLETED"]);
  assert.deepEqual(began.filter((said) => said === "waiting").length, 1);
});
