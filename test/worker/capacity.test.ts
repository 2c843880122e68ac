import assert from "node:assert/strict";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import type { AgentHarness, TaskHandle } from "../../src/testing/index.ts";
import { agentOf, Gate, read, stateName, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

/** Renewals and sweeps are far away: what happens at once happens by itself. */
const QUIET = { renewMs: 60_000 };

onEachStore("beyond capacity a task waits, and runs as soon as a turn ends", async (start) => {
  let running = 0;
  let most = 0;
  const full = new Gate();
  const gates = new Map<unknown, Gate>();
  const agent = agentOf(async function* ({ message }) {
    running += 1;
    most = Math.max(most, running);
    if (running === 2) full.open();
    await gates.get(textIn(message))?.opened;
    running -= 1;
    yield completed();
  });
  await using harness = await start(agent, { capacity: 2, ...QUIET });
  const handles: TaskHandle[] = [];
  for (let count = 0; count < 7; count += 1) {
    gates.set(`${count}`, new Gate());
    handles.push(await harness.send(`${count}`));
    assert.equal(stateName(handles[count]?.first ?? assert.fail()), "SUBMITTED");
  }
  await full.opened;
  for (const [index, handle] of handles.entries()) {
    gates.get(`${index}`)?.open();
    assert.equal(stateName(await handle.task()), "COMPLETED");
  }
  assert.equal(most, 2);
});

onEachStore("sends at the same time, and a take among them, never run more turns than there is capacity for", async (start) => {
  let running = 0;
  let most = 0;
  const full = new Gate();
  const agent = agentOf(async function* () {
    running += 1;
    most = Math.max(most, running);
    if (running === 3) full.open();
    await full.opened;
    await new Promise((resolve) => setImmediate(resolve));
    yield working();
    running -= 1;
  });
  await using harness = await start(agent, { capacity: 3, ...QUIET });
  const handles = await Promise.all(Array.from({ length: 40 }, (_, index) => harness.send(`${index}`)));
  for (const handle of handles) assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.equal(most, 3);
});

onEachStore("a turn that waits for its caller makes room at once", async (start) => {
  const waiting = new Gate();
  const agent = agentOf(async function* (turn) {
    if (textIn(turn.message) !== "ask") {
      yield completed();
      return;
    }
    await waiting.opened;
    yield inputRequired("which?");
    await turn.next();
  });
  await using harness = await start(agent, { capacity: 1, ...QUIET });
  const asking = await harness.send("ask");
  const second = await harness.send("run");
  waiting.open();
  assert.equal(stateName(await second.task()), "COMPLETED");
  assert.equal(stateName(await asking.task()), "INPUT_REQUIRED");
});

onEachStore("a follow-up beyond capacity waits, shows WORKING, and is run later as a turn of its own", async (start) => {
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(async function* ({ message }) {
    const said = textIn(message);
    if (said === "ask") {
      yield inputRequired("which?");
      return;
    }
    if (said !== "block") {
      yield completed();
      return;
    }
    begun.open();
    await go.opened;
  });
  await using harness = await start(agent, { capacity: 1, ...QUIET });
  const asking = await harness.send("ask");
  await asking.task();
  await idle(harness);
  const blocking = await harness.send("block");
  await begun.opened;
  const answer = await asking.followUp("blue");
  assert.equal(stateName(answer.first), "WORKING");
  assert.equal((await harness.storage.meta(asking.taskId))?.leased, false);
  go.open();
  assert.deepEqual(await read(answer.events), ["task WORKING", "COMPLETED"]);
  assert.equal(stateName(await blocking.task()), "COMPLETED");
});

onEachStore("a reservation that leads to no task is given back", async (start) => {
  const agent = agentOf(async function* () {
    yield completed();
  });
  await using harness = await start(agent, { capacity: 1, ...QUIET });
  const place = await reserved(harness);
  assert.equal(harness.worker.reserve(), undefined);
  const waiting = await harness.send("waits");
  assert.equal((await harness.storage.meta(waiting.taskId))?.leased, false);
  place[Symbol.dispose]();
  place[Symbol.dispose]();
  const next = await harness.send("runs");
  assert.equal(stateName(await next.task()), "COMPLETED");
  assert.equal(stateName(await waiting.task()), "COMPLETED");
});

/** A place, as soon as the replica's first look for waiting tasks is over. */
async function reserved(harness: AgentHarness): Promise<Disposable> {
  for (;;) {
    const place = harness.worker.reserve();
    if (place !== undefined) return place;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function idle(harness: AgentHarness): Promise<void> {
  while (harness.worker.owned > 0) await new Promise((resolve) => setImmediate(resolve));
}

onEachStore(
  "turns that wait for their callers are bounded too: beyond `maxOwnedTasks` a task waits until one of them has ended",
  async (start) => {
    const begun = new Map<unknown, Gate>();
    const agent = agentOf(
      async function* (turn) {
        begun.get(textIn(turn.message))?.open();
        yield inputRequired("and?");
        await turn.next();
        yield completed();
      },
      { acceptsMessages: true },
    );
    await using harness = await start(agent, { capacity: 10, maxOwnedTasks: 2, ...QUIET });
    for (const name of ["one", "two", "three"]) begun.set(name, new Gate());
    const [one, two] = [await harness.send("one"), await harness.send("two")];
    await begun.get("one")?.opened;
    await begun.get("two")?.opened;
    const three = await harness.send("three");
    assert.equal((await harness.storage.meta(three.taskId))?.state, TaskState.SUBMITTED);
    await one.followUp("go on");
    assert.equal(stateName(await one.task()), "COMPLETED");
    await begun.get("three")?.opened;
    for (const handle of [two, three]) {
      await handle.followUp("go on");
      assert.equal(stateName(await handle.task()), "COMPLETED");
    }
  },
);
