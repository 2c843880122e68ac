import assert from "node:assert/strict";
import { TurnAborted } from "../../src/core/agent.ts";
import { completed, inputRequired, working } from "../../src/core/events.ts";
import { Snapshots } from "../../src/core/snapshots.ts";
import { aborted, agentOf, content, Gate, read, saidBy, shownLog, stateName, stored, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore(
  "P-4 a resumable turn is run again elsewhere with `resumed`; followers go on; the old turn is aborted with lease-lost",
  async (start) => {
    const begun = [new Gate(), new Gate()];
    const old = Promise.withResolvers<unknown>();
    const runs: { attempt: number; resumed: boolean; said: unknown }[] = [];
    const agent = agentOf(
      async function* ({ attempt, resumed, message, signal, task }) {
        runs.push({ attempt, resumed, said: textIn(message) });
        if (runs.length === 1) {
          yield text("a", "first");
          begun[0]?.open();
          await aborted(signal);
          old.resolve(signal.reason);
          yield text("a", "from the dead", true);
          return;
        }
        yield text("a", ` then ${content(task, "a").length}`, true);
      },
      { resumable: true },
    );
    await using harness = await start(agent);
    const handle = await harness.send("go");
    await begun[0]?.opened;
    await stored(harness, handle.taskId, "a = first");
    await harness.takeOver(handle.taskId);
    const reason = await old.promise;
    assert.ok(reason instanceof TurnAborted && reason.abortCause === "lease-lost");
    assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = first", "a +=  then 5", "COMPLETED"]);
    assert.deepEqual(runs, [
      { attempt: 1, resumed: false, said: "go" },
      { attempt: 2, resumed: true, said: "go" },
    ]);
    const epochs = (await harness.log(handle.taskId)).map(({ epoch }) => epoch);
    assert.deepEqual(epochs, [1, 1, 1, 1, 2, 2]);
  },
);

onEachStore("a fenced owner that never looks at its signal writes nothing more", async (start) => {
  const [begun, go, over] = [new Gate(), new Gate(), new Gate()];
  let runs = 0;
  const agent = agentOf(
    async function* () {
      runs += 1;
      if (runs > 1) {
        yield completed("by the second");
        return;
      }
      try {
        yield working();
        begun.open();
        await go.opened;
        yield text("a", "too late");
        yield completed("by the first");
      } finally {
        over.open();
      }
    },
    { resumable: true },
  );
  // No renewal: the old owner learns of it at its next append.
  await using harness = await start(agent, { renewMs: 60_000 });
  const handle = await harness.send("go");
  await begun.opened;
  await stored(harness, handle.taskId, "WORKING");
  await harness.takeOver(handle.taskId);
  go.open();
  await over.opened;
  assert.equal(saidBy(await handle.task()), "by the second");
  assert.deepEqual(shownLog(await harness.log(handle.taskId)), ["task SUBMITTED", "(start)", "WORKING", "COMPLETED: by the second"]);
});

onEachStore("a turn that cannot be resumed ends FAILED with a message that names the cause", async (start) => {
  let runs = 0;
  const begun = new Gate();
  const agent = agentOf(async function* ({ signal }) {
    runs += 1;
    yield text("a", "kept");
    begun.open();
    await aborted(signal);
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await begun.opened;
  await stored(harness, handle.taskId, "a = kept");
  await harness.takeOver(handle.taskId);
  const task = await handle.task();
  assert.equal(stateName(task), "FAILED");
  assert.match(saidBy(task), /went away.*cannot resume/);
  assert.equal(content(task, "a"), "kept");
  assert.equal(runs, 1);
});

onEachStore("a resumable turn that is cut off maxAttempts times ends FAILED", async (start) => {
  let runs = 0;
  let begun = new Gate();
  const agent = agentOf(
    async function* ({ signal }) {
      runs += 1;
      yield text(`a${runs}`, "x");
      begun.open();
      await aborted(signal);
    },
    { resumable: true },
  );
  await using harness = await start(agent, { maxAttempts: 3 });
  const handle = await harness.send("go");
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await begun.opened;
    await stored(harness, handle.taskId, `a${attempt} = x`);
    begun = new Gate();
    await harness.takeOver(handle.taskId);
  }
  const task = await handle.task();
  assert.equal(stateName(task), "FAILED");
  assert.match(saidBy(task), /cut off 3 times/);
  assert.equal(runs, 3);
});

onEachStore("a pending cancel wins over a takeover: CANCELED, and no further run", async (start) => {
  let runs = 0;
  const begun = new Gate();
  const agent = agentOf(
    async function* () {
      runs += 1;
      yield working();
      begun.open();
      await new Promise(() => undefined);
    },
    { resumable: true },
  );
  await using harness = await start(agent, { cancelGraceMs: 10_000 });
  const handle = await harness.send("go");
  await begun.opened;
  const asked = handle.cancel();
  while ((await harness.storage.meta(handle.taskId))?.cancelRequested === 0) await Promise.resolve();
  await harness.takeOver(handle.taskId);
  assert.equal(stateName(await asked), "CANCELED");
  assert.equal(runs, 1);
});

onEachStore("a cancel that the owner heard of is not lost with its lease, even where the agent asks its caller first", async (start) => {
  const begun = new Gate();
  const agent = agentOf(
    async function* ({ signal }) {
      begun.open();
      await aborted(signal);
      yield inputRequired("really?");
      await new Promise(() => undefined);
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent, { cancelGraceMs: 10_000 });
  const handle = await harness.send("go");
  await begun.opened;
  await handle.followUp("more");
  const asked = handle.cancel();
  await stored(harness, handle.taskId, "INPUT_REQUIRED: really?");
  await harness.takeOver(handle.taskId);
  assert.equal(stateName(await asked), "CANCELED");
});

onEachStore("a crash while a follow-up is worked on resumes that follow-up, not an earlier message", async (start) => {
  const begun = new Gate();
  const runs: { said: unknown; resumed: boolean; attempt: number }[] = [];
  const agent = agentOf(
    async function* ({ message, resumed, attempt, signal }) {
      runs.push({ said: textIn(message), resumed, attempt });
      if (runs.length === 1) {
        yield inputRequired("which?");
        return;
      }
      if (runs.length > 2) {
        yield completed();
        return;
      }
      yield text("a", "x");
      begun.open();
      await aborted(signal);
    },
    { resumable: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await handle.task();
  await handle.followUp("two");
  await begun.opened;
  await stored(harness, handle.taskId, "a = x");
  await harness.takeOver(handle.taskId);
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.deepEqual(runs, [
    { said: "one", resumed: false, attempt: 1 },
    { said: "two", resumed: false, attempt: 1 },
    { said: "two", resumed: true, attempt: 2 },
  ]);
});

onEachStore("a crash of a turn that works while messages wait resumes its own message; the others follow", async (start) => {
  const begun = new Gate();
  const runs: string[] = [];
  const agent = agentOf(
    async function* ({ message, resumed, signal }) {
      runs.push(`${textIn(message)} ${resumed}`);
      if (runs.length > 1) return;
      yield text("a", "x");
      begun.open();
      await aborted(signal);
    },
    { resumable: true, acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await begun.opened;
  await stored(harness, handle.taskId, "a = x");
  await handle.followUp("two");
  await handle.followUp("three");
  await harness.takeOver(handle.taskId);
  assert.equal(stateName(await handle.task()), "COMPLETED");
  assert.deepEqual(runs, ["one false", "one true", "two false", "three false"]);
});

onEachStore("a replica that takes its own expired task again aborts the turn that it lost", async (start) => {
  const [begun, old] = [new Gate(), Promise.withResolvers<unknown>()];
  let runs = 0;
  const agent = agentOf(
    async function* ({ signal }) {
      runs += 1;
      if (runs > 1) {
        yield completed();
        return;
      }
      yield working();
      begun.open();
      await aborted(signal);
      old.resolve(signal.reason);
    },
    { resumable: true },
  );
  await using harness = await start(agent, { renewMs: 60_000 });
  const { storage, worker } = harness;
  const handle = await harness.send("go");
  await begun.opened;
  await stored(harness, handle.taskId, "WORKING");
  for (const { lease, meta } of await storage.expire(handle.taskId, { token: "again", replica: "replica-1" })) {
    const fold = await new Snapshots(storage, { cacheBytes: 1, historyLimit: 10 }).fresh(lease.taskId);
    worker.adopt({ ...meta, lease, fold, cancelRequested: false });
  }
  const reason = await old.promise;
  assert.ok(reason instanceof TurnAborted && reason.abortCause === "lease-lost");
  assert.equal(stateName(await handle.task()), "COMPLETED");
});

onEachStore("a lease lost while the turn waits for its caller costs the task nothing: the answer begins a new turn", async (start) => {
  const runs: string[] = [];
  const agent = agentOf(async function* (turn) {
    runs.push(`${textIn(turn.message)} ${turn.attempt} ${turn.resumed}`);
    if (runs.length > 1) {
      yield completed();
      return;
    }
    yield inputRequired("which?");
    await turn.next();
  });
  await using harness = await start(agent);
  const handle = await harness.send("one");
  await handle.task();
  await harness.takeOver(handle.taskId);
  assert.equal((await harness.storage.meta(handle.taskId))?.leased, false);
  assert.equal(stateName(await (await handle.followUp("two")).task()), "COMPLETED");
  assert.deepEqual(runs, ["one 1 false", "two 1 false"]);
});
