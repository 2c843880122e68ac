import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { TaskError } from "../../src/core/errors.ts";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import type { Batch, Lease } from "../../src/core/storage.ts";
import type { AgentHarness } from "../../src/testing/index.ts";
import { agentOf, content, Gate, history, read, shownLog, stateName, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("an interrupted task goes on: WORKING and the message in one step, a new turn, the rest of the conversation", async (start) => {
  const turns: { attempt: number; resumed: boolean; said: unknown; history: unknown[] }[] = [];
  const agent = agentOf(async function* ({ attempt, resumed, message, history: so_far }) {
    turns.push({ attempt, resumed, said: textIn(message), history: history({ history: [...so_far] }) });
    yield turns.length === 1 ? inputRequired("which?") : completed();
  });
  await using harness = await start(agent);
  const handle = await harness.send("book");
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "INPUT_REQUIRED: which?"]);
  assert.equal(stateName(await handle.task()), "INPUT_REQUIRED");
  const answer = await handle.followUp("the blue one");
  assert.equal(stateName(answer.first), "WORKING");
  assert.deepEqual(history(answer.first), ["book", "which?", "the blue one"]);
  assert.deepEqual(await read(answer.events), ["task WORKING", "COMPLETED"]);
  assert.deepEqual(turns, [
    { attempt: 1, resumed: false, said: "book", history: ["book"] },
    { attempt: 1, resumed: false, said: "the blue one", history: ["book", "which?", "the blue one"] },
  ]);
  const log = shownLog(await harness.log(handle.taskId));
  assert.deepEqual(log, ["task SUBMITTED", "(start)", "INPUT_REQUIRED: which?", "WORKING", "(followUp)", "COMPLETED"]);
});

onEachStore("a turn stays alive across an interrupted state and awaits the next message", async (start) => {
  let runs = 0;
  const agent = agentOf(async function* (turn) {
    runs += 1;
    yield inputRequired("name?");
    const message = await turn.next();
    yield text("greeting", `hello ${textIn(message)}`);
  });
  await using harness = await start(agent);
  const handle = await harness.send("greet me");
  await handle.task();
  const answer = await handle.followUp("ann");
  assert.deepEqual(await read(answer.events), ["task WORKING", "greeting = hello ann", "COMPLETED"]);
  assert.equal(runs, 1);
});

onEachStore("P-12 what a living turn yields while it waits for its caller is logged and streamed", async (start) => {
  const gate = new Gate();
  const agent = agentOf(async function* (turn) {
    yield inputRequired("more?");
    await gate.opened;
    yield text("a", "meanwhile");
    await turn.next();
  });
  await using harness = await start(agent, { closeOnInputRequired: "none" });
  const handle = await harness.send("go");
  await handle.task();
  gate.open();
  assert.deepEqual(await read(take(handle.events, 3)), ["task SUBMITTED", "INPUT_REQUIRED: more?", "a = meanwhile"]);
});

onEachStore("C-39 a working task takes messages only from an agent that says so", async (start) => {
  const gate = new Gate();
  const agent = agentOf(async function* () {
    await gate.opened;
    yield completed();
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await assert.rejects(
    () => handle.followUp("more"),
    (error) => error instanceof TaskError && error.reason === "UNSUPPORTED_OPERATION",
  );
  gate.open();
  await handle.task();
  await assert.rejects(
    () => handle.followUp("more"),
    (error) => error instanceof TaskError && error.reason === "UNSUPPORTED_OPERATION",
  );
});

onEachStore("acceptsMessages: a message to a working turn comes out of next(), and is in the history", async (start) => {
  const begun = new Gate();
  const agent = agentOf(
    async function* (turn) {
      yield working();
      begun.open();
      const more = await turn.next();
      yield text("a", textIn(more));
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await begun.opened;
  await handle.followUp("more");
  const task = await handle.task();
  assert.equal(content(task, "a"), "more");
  assert.deepEqual(history(task), ["go", "more"]);
});

onEachStore("a turn that returns with an untaken message is followed by another turn, not by COMPLETED", async (start) => {
  const said: unknown[] = [];
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(
    async function* ({ message }) {
      said.push(textIn(message));
      begun.open();
      await go.opened;
      yield text(`a${said.length}`, "x");
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await begun.opened;
  await handle.followUp("two");
  await handle.followUp("three");
  go.open();
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.deepEqual(said, ["one", "two", "three"]);
  const log = shownLog(await harness.log(handle.taskId));
  assert.equal(log.filter((line) => line === "COMPLETED").length, 1);
});

onEachStore("a message that comes while the turn returns is not lost, whenever it comes", async (start) => {
  for (let delay = 0; delay < 12; delay += 1) {
    const said: unknown[] = [];
    const begun = new Gate();
    const agent = agentOf(
      async function* ({ message }) {
        said.push(textIn(message));
        yield working();
        begun.open();
      },
      { acceptsMessages: true },
    );
    await using harness = await start(agent);
    const handle = await harness.send("one");
    await begun.opened;
    for (let tick = 0; tick < delay; tick += 1) await Promise.resolve();
    const accepted = await handle.followUp("two").then(
      () => true,
      () => false,
    );
    await read(handle.events);
    assert.deepEqual(said, accepted ? ["one", "two"] : ["one"]);
  }
});

onEachStore("a terminal event of the agent wins over an untaken message", async (start) => {
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(
    async function* () {
      begun.open();
      await go.opened;
      yield completed("enough");
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await begun.opened;
  await handle.followUp("two");
  go.open();
  const task = await handle.task();
  assert.equal(stateName(task), "COMPLETED");
  assert.deepEqual(history(task), ["one", "two"]);
});

onEachStore("an untaken message goes on with a task that was interrupted after it: WORKING again, then its turn", async (start) => {
  const said: unknown[] = [];
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(
    async function* ({ message }) {
      said.push(textIn(message));
      if (said.length > 1) return;
      begun.open();
      await go.opened;
      yield inputRequired("which?");
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent, { workingAfterMs: 1 });
  const handle = await harness.send("one");
  await begun.opened;
  await handle.followUp("two");
  const subscription = (await handle.followUp("three")).events;
  go.open();
  await read(subscription);
  while (stateName(await handle.task()) !== "COMPLETED") await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(said, ["one", "two", "three"]);
  const log = shownLog(await harness.log(handle.taskId)).slice(-3);
  assert.deepEqual(log, ["INPUT_REQUIRED: which?", "WORKING", "COMPLETED"]);
});

onEachStore("next() that an ended turn has left waiting takes no message from the turn that follows", async (start) => {
  const said: unknown[] = [];
  const second = new Gate();
  const agent = agentOf(
    async function* (turn) {
      said.push(textIn(turn.message));
      if (said.length === 1) {
        // Left behind, as in a race between a message and some other work.
        void turn.next().then((message) => said.push(`stolen ${textIn(message)}`));
        yield inputRequired("which?");
        return;
      }
      second.open();
      yield text("a", textIn(await turn.next()));
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await handle.task();
  const next = await handle.followUp("two");
  await second.opened;
  await handle.followUp("three");
  await read(next.events);
  assert.deepEqual(
    said.filter((line) => line !== "stolen "),
    ["one", "two"],
  );
  assert.equal(content(await harness.read(handle.taskId), "a"), "three");
});

onEachStore(
  "a message that comes while a returned turn is written out is the next turn's, not the one's that left next() waiting",
  async (start, t) => {
    const said: string[] = [];
    const agent = agentOf(
      async function* (turn) {
        said.push(textIn(turn.message));
        if (said.length === 1) void turn.next();
        yield text("a", "x");
      },
      { acceptsMessages: true },
    );
    await using harness = await start(agent);
    const release = holdAppend(t, harness);
    const handle = await harness.send("one");
    await release.held;
    await handle.followUp("two");
    release.go();
    assert.equal(stateName(await handle.task()), "COMPLETED");
    assert.deepEqual(said, ["one", "two"]);
  },
);

onEachStore("a message that overtakes INPUT_REQUIRED on its way into the log: WORKING again, then its turn", async (start, t) => {
  const said: string[] = [];
  const ask = new Gate();
  const agent = agentOf(
    async function* ({ message }) {
      said.push(textIn(message));
      if (said.length > 1) return yield* [text("a", "x")];
      yield working("one moment");
      await ask.opened;
      return yield* [inputRequired("which?")];
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent, { closeOnInputRequired: "none" });
  const handle = await harness.send("one");
  while (!shownLog(await harness.log(handle.taskId)).includes("WORKING: one moment")) await new Promise((resolve) => setImmediate(resolve));
  const release = holdAppend(t, harness);
  ask.open();
  await release.held;
  await handle.followUp("two");
  release.go();
  assert.equal((await read(handle.events)).at(-1), "COMPLETED");
  assert.deepEqual(said, ["one", "two"]);
  assert.deepEqual(shownLog(await harness.log(handle.taskId)), [
    "task SUBMITTED",
    "(start)",
    "WORKING: one moment",
    "(followUp)",
    "INPUT_REQUIRED: which?",
    "WORKING",
    "a = x",
    "COMPLETED",
  ]);
});

onEachStore("a task at rest without a turn holds no lease", async (start) => {
  const agent = agentOf(async function* () {
    yield inputRequired("which?");
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  while (harness.worker.owned > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await harness.storage.meta(handle.taskId))?.leased, false);
});

/** Holds the next append until it is let go. */
function holdAppend(t: TestContext, { storage }: AgentHarness): { held: Promise<void>; go: () => void } {
  const [held, gate] = [new Gate(), new Gate()];
  const append = storage.append.bind(storage);
  const mocked = t.mock.method(storage, "append", async (lease: Lease, batch: Batch) => {
    mocked.mock.restore();
    held.open();
    await gate.opened;
    return append(lease, batch);
  });
  return { held: held.opened, go: gate.open };
}

async function* take<T>(values: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let left = count;
  for await (const value of values) {
    yield value;
    if (--left === 0) return;
  }
}
