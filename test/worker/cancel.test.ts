import assert from "node:assert/strict";
import { TurnAborted } from "../../src/core/agent.ts";
import { TaskError } from "../../src/core/errors.ts";
import { canceled, completed, failed, inputRequired, working } from "../../src/core/events.ts";
import { aborted, agentOf, content, Gate, read, shownLog, stateName, stored, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

const notCancelable = (error: unknown): boolean => error instanceof TaskError && error.reason === "TASK_NOT_CANCELABLE";

onEachStore("P-31 a cancel aborts the turn's signal with its reason; a turn that then returns leaves CANCELED", async (start) => {
  const begun = new Gate();
  let reason: unknown;
  const agent = agentOf(async function* ({ signal }) {
    yield text("a", "kept");
    begun.open();
    await aborted(signal);
    reason = signal.reason;
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await begun.opened;
  assert.equal(stateName(await handle.cancel()), "CANCELED");
  assert.ok(reason instanceof TurnAborted && reason.abortCause === "canceled");
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = kept", "CANCELED"]);
});

onEachStore("what the agent yields after the cancel still counts, and its own terminal state wins", async (start) => {
  for (const [event, state] of [
    [completed("just in time"), "COMPLETED"],
    [failed("half done"), "FAILED"],
    [canceled("cleaned up"), "CANCELED"],
  ] as const) {
    const begun = new Gate();
    const agent = agentOf(async function* ({ signal }) {
      yield working();
      begun.open();
      await aborted(signal);
      yield text("a", "last words");
      yield event;
    });
    await using harness = await start(agent);
    const handle = await harness.send("go");
    await begun.opened;
    const task = await handle.cancel();
    assert.equal(stateName(task), state);
    assert.equal(content(task, "a"), "last words");
  }
});

onEachStore("a canceled turn that throws leaves CANCELED, not FAILED", async (start) => {
  const begun = new Gate();
  const agent = agentOf(async function* ({ signal }) {
    yield working();
    begun.open();
    await aborted(signal);
    throw signal.reason;
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await begun.opened;
  assert.equal(stateName(await handle.cancel()), "CANCELED");
});

onEachStore("P-38 a turn that does not listen is cut off after cancelGraceMs; nothing that it yields later is appended", async (start) => {
  const [begun, go, over] = [new Gate(), new Gate(), new Gate()];
  const agent = agentOf(async function* () {
    try {
      yield working();
      begun.open();
      await go.opened;
      yield text("a", "too late");
    } finally {
      over.open();
    }
  });
  await using harness = await start(agent, { cancelGraceMs: 20 });
  const handle = await harness.send("go");
  await begun.opened;
  await stored(harness, handle.taskId, "WORKING");
  assert.equal(stateName(await handle.cancel()), "CANCELED");
  go.open();
  await over.opened;
  assert.deepEqual(shownLog(await harness.log(handle.taskId)), ["task SUBMITTED", "(start)", "WORKING", "(cancel)", "CANCELED"]);
});

onEachStore("R-069 C-21 P-32 a second cancel joins the first; after CANCELED the task is not cancelable", async (start, t) => {
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(async function* ({ signal }) {
    begun.open();
    await aborted(signal);
    await go.opened;
    yield* [];
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await begun.opened;
  const waits = t.mock.method(harness.storage, "tail");
  const first = handle.cancel();
  while ((await harness.storage.meta(handle.taskId))?.cancelRequested === 0) await new Promise((resolve) => setImmediate(resolve));
  const all = [first, handle.cancel(), handle.cancel()];
  while (waits.mock.callCount() < all.length) await new Promise((resolve) => setImmediate(resolve));
  go.open();
  const both = await Promise.all(all);
  assert.deepEqual(both.map(stateName), ["CANCELED", "CANCELED", "CANCELED"]);
  assert.deepEqual(shownLog(await harness.log(handle.taskId)), ["task SUBMITTED", "(start)", "(cancel)", "CANCELED"]);
  await assert.rejects(() => handle.cancel(), notCancelable);
});

onEachStore("a cancel of an interrupted task that no turn waits on is CANCELED at once", async (start) => {
  const agent = agentOf(async function* () {
    yield inputRequired("which?");
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  while (harness.worker.owned > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(stateName(await handle.cancel()), "CANCELED");
});

onEachStore("a cancel wakes a turn that waits for its caller: next() is undefined", async (start) => {
  let answer: unknown = "none";
  const agent = agentOf(async function* (turn) {
    yield inputRequired("which?");
    answer = await turn.next();
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  assert.equal(stateName(await handle.cancel()), "CANCELED");
  assert.equal(answer, undefined);
});

onEachStore("P-33 a cancel of a task that waits for a place is CANCELED, and its turn never runs", async (start) => {
  const [go, begun] = [new Gate(), new Gate()];
  const ran: unknown[] = [];
  const agent = agentOf(async function* ({ message }) {
    ran.push(textIn(message));
    begun.open();
    await go.opened;
    yield completed();
  });
  await using harness = await start(agent, { capacity: 1 });
  const first = await harness.send("first");
  await begun.opened;
  const waiting = await harness.send("waiting");
  assert.equal(stateName(await waiting.cancel()), "CANCELED");
  go.open();
  assert.equal(stateName(await first.task()), "COMPLETED");
  assert.equal(stateName(await (await harness.send("third")).task()), "COMPLETED");
  assert.deepEqual(ran, ["first", "third"]);
});

for (const when of ["before", "after"] as const) {
  onEachStore(`a cancel that comes ${when} a follow-up's new owner reads the log is heard at once`, async (start, t) => {
    const begun = new Gate();
    let runs = 0;
    const agent = agentOf(async function* ({ signal }) {
      runs += 1;
      if (runs === 1) {
        yield inputRequired("which?");
        return;
      }
      begun.open();
      await aborted(signal);
    });
    await using harness = await start(agent, { cancelGraceMs: 60_000, renewMs: 60_000 });
    const handle = await harness.send("go");
    await handle.task();
    while (harness.worker.owned > 0) await new Promise((resolve) => setImmediate(resolve));
    const { storage } = harness;
    const [atIt, go] = [new Gate(), new Gate()];
    const readAll = storage.read.bind(storage);
    const watched = t.mock.method(storage, "read", async (...args: Parameters<typeof readAll>) => {
      const step = await readAll(...args);
      if (args[1].offset !== (when === "before" ? 0 : 5)) return step;
      watched.mock.restore();
      atIt.open();
      await go.opened;
      return step;
    });
    const sending = handle.followUp("blue");
    await atIt.opened;
    const asked = handle.cancel();
    while ((await storage.meta(handle.taskId))?.cancelRequested === 0) await new Promise((resolve) => setImmediate(resolve));
    go.open();
    await sending;
    assert.equal(stateName(await asked), "CANCELED");
  });
}

onEachStore("a cancel at any moment of a short task ends it once", async (start) => {
  const agent = agentOf(async function* ({ signal }) {
    for (let count = 0; count < 3 && !signal.aborted; count += 1) yield text("a", "x", true);
  });
  await using harness = await start(agent, { cancelGraceMs: 200 });
  for (let delay = 0; delay < 25; delay += 1) {
    const handle = await harness.send(`go ${delay}`);
    for (let tick = 0; tick < delay; tick += 1)
      await (tick % 5 === 4 ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve());
    const ended = await handle.cancel().catch((error: unknown) => assert.ok(notCancelable(error)));
    const task = await handle.task();
    if (ended !== undefined) assert.equal(stateName(ended), stateName(task));
    assert.ok(["CANCELED", "COMPLETED"].includes(stateName(task)));
    const terminal = shownLog(await harness.log(handle.taskId)).filter((line) => /^(CANCELED|COMPLETED)/.test(line));
    assert.equal(terminal.length, 1);
  }
});
