import assert from "node:assert/strict";
import { TurnAborted } from "../../src/core/agent.ts";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import { aborted, agentOf, Gate, read, saidBy, shownLog, stateName, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore(
  "a resumable turn is handed over: run again elsewhere as resumed, no attempt counted, its signal says draining",
  async (start) => {
    let begun = new Gate();
    const reasons: unknown[] = [];
    const runs: string[] = [];
    const agent = agentOf(
      async function* ({ attempt, resumed, signal }) {
        runs.push(`${attempt} ${resumed}`);
        yield text(`a${runs.length}`, "x");
        if (runs.length > 3) {
          yield completed();
          return;
        }
        begun.open();
        await aborted(signal);
        reasons.push(signal.reason);
      },
      { resumable: true },
    );
    await using harness = await start(agent, { maxAttempts: 1 });
    const handle = await harness.send("go");
    for (let drain = 0; drain < 3; drain += 1) {
      await begun.opened;
      begun = new Gate();
      await harness.drain();
    }
    assert.equal(stateName(await handle.task()), "COMPLETED");
    assert.deepEqual(runs, ["1 false", "1 true", "1 true", "1 true"]);
    assert.equal(reasons.length, 3);
    for (const reason of reasons) assert.ok(reason instanceof TurnAborted && reason.abortCause === "draining");
  },
);

onEachStore("nothing that a handed-over turn yields, throws or returns is appended any more", async (start) => {
  for (const end of ["yields", "throws", "returns"]) {
    const [begun, over] = [new Gate(), new Gate()];
    let runs = 0;
    const agent = agentOf(
      async function* ({ signal }) {
        runs += 1;
        if (runs > 1) {
          yield completed("by the second");
          return;
        }
        try {
          yield text("a", "1");
          begun.open();
          await aborted(signal);
          if (end === "throws") throw new Error("late");
          if (end === "yields") yield completed("by the first");
        } finally {
          over.open();
        }
      },
      { resumable: true },
    );
    await using harness = await start(agent);
    const handle = await harness.send("go");
    await begun.opened;
    await harness.drain();
    await over.opened;
    assert.equal(saidBy(await handle.task()), "by the second", end);
    const log = shownLog(await harness.log(handle.taskId));
    assert.deepEqual(log, ["task SUBMITTED", "(start)", "WORKING", "a = 1", "COMPLETED: by the second"], end);
  }
});

onEachStore(
  "a resumable turn that goes on yielding during the hand-over loses nothing that was stored and repeats nothing",
  async (start) => {
    let runs = 0;
    const begun = new Gate();
    const agent = agentOf(
      async function* ({ signal }) {
        runs += 1;
        if (runs > 1) return;
        for (let count = 0; !signal.aborted; count += 1) {
          yield text("a", `${count}`, count > 0);
          begun.open();
          if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      },
      { resumable: true },
    );
    await using harness = await start(agent);
    const handle = await harness.send("go");
    await begun.opened;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await harness.drain();
    await handle.task();
    const chunks = shownLog(await harness.log(handle.taskId)).flatMap((line) => /^a \+?= (\d+)$/.exec(line)?.[1] ?? []);
    assert.deepEqual(
      chunks,
      Array.from(chunks, (_, index) => `${index}`),
    );
  },
);

onEachStore("a turn that cannot be resumed may finish within drainMs", async (start) => {
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(async function* () {
    yield working();
    begun.open();
    await go.opened;
    yield completed("in time");
  });
  await using harness = await start(agent, { drainMs: 10_000 });
  const handle = await harness.send("go");
  await begun.opened;
  const drained = harness.drain();
  go.open();
  await drained;
  assert.equal(saidBy(await handle.task()), "in time");
});

onEachStore(
  "what has not finished after drainMs is released; as it cannot be resumed it ends FAILED elsewhere, and is not run twice",
  async (start) => {
    const begun = new Gate();
    let runs = 0;
    const agent = agentOf(async function* () {
      runs += 1;
      yield text("a", "1");
      begun.open();
      await new Promise(() => undefined);
    });
    await using harness = await start(agent, { drainMs: 20 });
    const handle = await harness.send("go");
    await begun.opened;
    await harness.drain();
    const task = await handle.task();
    assert.equal(stateName(task), "FAILED");
    assert.match(saidBy(task), /cannot resume/);
    assert.equal(runs, 1);
  },
);

onEachStore("a task that was created just before the drain runs elsewhere, once", async (start) => {
  let runs = 0;
  const agent = agentOf(
    async function* () {
      runs += 1;
      yield completed();
    },
    { resumable: true },
  );
  await using harness = await start(agent);
  const sent = harness.send("go");
  await Promise.resolve();
  const drained = harness.drain();
  const handle = await sent;
  await drained;
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.equal(runs, 1);
});

onEachStore("a create that comes back only during the drain leaves its task to another replica", async (start, t) => {
  const [begun, end] = [new Gate(), new Gate()];
  const agent = agentOf(async function* ({ message }) {
    if (textIn(message) === "block") {
      begun.open();
      await end.opened;
    }
    yield completed();
  });
  await using harness = await start(agent, { drainMs: 10_000 });
  const blocking = await harness.send("block");
  await begun.opened;
  const { storage } = harness;
  const createTask = storage.create.bind(storage);
  const [created, go] = [new Gate(), new Gate()];
  t.mock.method(storage, "create", async (...args: Parameters<typeof createTask>) => {
    const reply = await createTask(...args);
    created.open();
    await go.opened;
    return reply;
  });
  const sending = harness.send("go");
  await created.opened;
  const drained = harness.drain();
  go.open();
  const handle = await sending;
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.deepEqual(
    (await harness.log(handle.taskId)).map(({ epoch }) => epoch),
    [1, 1, 2],
  );
  end.open();
  await drained;
  assert.equal(stateName(await blocking.task()), "COMPLETED");
});

onEachStore("a turn that waits for its caller is let go; the answer begins a new turn elsewhere", async (start) => {
  const runs: string[] = [];
  const agent = agentOf(async function* (turn) {
    runs.push(`${textIn(turn.message)} ${turn.resumed}`);
    if (runs.length > 1) return;
    yield inputRequired("which?");
    await turn.next();
  });
  await using harness = await start(agent, { drainMs: 60_000 });
  const handle = await harness.send("one");
  await handle.task();
  await harness.drain();
  assert.equal((await harness.storage.meta(handle.taskId))?.leased, false);
  assert.deepEqual(await read((await handle.followUp("two")).events), ["task WORKING", "COMPLETED"]);
  assert.deepEqual(runs, ["one false", "two false"]);
});

onEachStore("a drain is idempotent, takes nothing new and ends as soon as nothing runs", async (start) => {
  const agent = agentOf(async function* () {});
  await using harness = await start(agent, { drainMs: 60_000 });
  await (await harness.send("go")).task();
  const { worker } = harness;
  const first = worker.drain();
  assert.equal(worker.drain(), first);
  assert.equal(worker.state, "draining");
  await first;
  assert.equal(worker.state, "closed");
  assert.equal(worker.reserve(), undefined);
  // The drained replica is still the harness's own: what is sent waits for another.
  const handle = await harness.send("waits");
  assert.equal(worker.owned, 0);
  await harness.drain();
  assert.equal(stateName(await handle.task()), "COMPLETED");
});

onEachStore("a second signal skips the waiting of a drain", async (start) => {
  const begun = new Gate();
  const agent = agentOf(async function* () {
    begun.open();
    yield* [];
    await new Promise(() => undefined);
  });
  await using harness = await start(agent, { drainMs: 60_000 });
  await harness.send("go");
  await begun.opened;
  const skip = new AbortController();
  const drained = harness.worker.drain(skip.signal);
  skip.abort();
  await drained;
  assert.equal(harness.worker.owned, 0);
});
