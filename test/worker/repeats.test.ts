import assert from "node:assert/strict";
import { completed, inputRequired } from "../../src/core/events.ts";
import { agentOf, Gate, history, read, stateName } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

const said = (messageId: string, value = "go") => ({ messageId, parts: [{ content: { case: "text" as const, value } }] });
const quick = agentOf(async function* () {
  yield completed();
});

onEachStore(
  "SV-14 window: a repeated send gets the first task, running or ended; another content or another caller is another message",
  async (start) => {
    const [begun, go] = [new Gate(), new Gate()];
    let runs = 0;
    const agent = agentOf(async function* () {
      runs += 1;
      begun.open();
      await go.opened;
      yield completed();
    });
    await using harness = await start(agent);
    const first = await harness.send(said("m"));
    await begun.opened;
    const running = await harness.send(said("m"));
    assert.equal(running.taskId, first.taskId);
    assert.equal((await harness.log(first.taskId)).filter(({ kind }) => kind === "command").length, 1);
    go.open();
    await first.task();
    const ended = await harness.send(said("m"));
    assert.equal(ended.taskId, first.taskId);
    assert.deepEqual(await read(ended.events), ["task COMPLETED"]);
    assert.equal((await read(running.events)).at(-1), "COMPLETED");
    assert.equal(runs, 1);
    assert.notEqual((await harness.send(said("m", "other"))).taskId, first.taskId);
    assert.notEqual((await harness.send(said("m"), { principal: "bob" })).taskId, first.taskId);
  },
);

onEachStore("two sends with one messageId at the same time make one task", async (start) => {
  let runs = 0;
  const agent = agentOf(async function* () {
    runs += 1;
    yield completed();
  });
  await using harness = await start(agent);
  const handles = await Promise.all(Array.from({ length: 8 }, () => harness.send(said("m"))));
  assert.equal(new Set(handles.map(({ taskId }) => taskId)).size, 1);
  for (const handle of handles) await handle.task();
  assert.equal(runs, 1);
});

onEachStore("running: a repeat joins a task that is not at rest, and no other", async (start) => {
  const [begun, go] = [new Gate(), new Gate()];
  const agent = agentOf(async function* () {
    begun.open();
    await go.opened;
    yield completed();
  });
  await using harness = await start(agent, { dedupe: { mode: "running" } });
  const first = await harness.send(said("m"));
  await begun.opened;
  assert.equal((await harness.send(said("m"))).taskId, first.taskId);
  go.open();
  await first.task();
  assert.notEqual((await harness.send(said("m"))).taskId, first.taskId);
});

onEachStore("off: every send is a task of its own", async (start) => {
  await using harness = await start(quick, { dedupe: { mode: "off" } });
  const ids = await Promise.all([said("m"), said("m"), said("m")].map(async (message) => (await harness.send(message)).taskId));
  assert.equal(new Set(ids).size, 3);
});

onEachStore("a window that is over joins nothing", async (start) => {
  await using harness = await start(quick, { dedupe: { mode: "window", windowMs: 0 } });
  assert.notEqual((await harness.send(said("m"))).taskId, (await harness.send(said("m"))).taskId);
});

onEachStore("a repeated follow-up is no second message, and its stream ends where the first one's did", async (start) => {
  let runs = 0;
  const agent = agentOf(async function* () {
    runs += 1;
    yield inputRequired(`question ${runs}`);
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  const first = await handle.followUp(said("f", "answer"));
  assert.deepEqual(await read(first.events), ["task WORKING", "INPUT_REQUIRED: question 2"]);
  const again = await handle.followUp(said("f", "answer"));
  assert.deepEqual(await read(again.events), ["task INPUT_REQUIRED"]);
  assert.equal(runs, 2);
  assert.deepEqual(history(await harness.read(handle.taskId)), ["go", "question 1", "answer"]);
});

onEachStore("a blocking repeat of a task at rest answers at once", async (start) => {
  const agent = agentOf(async function* () {
    yield inputRequired("which?");
  });
  await using harness = await start(agent);
  const [first, again] = [await harness.ask(said("m")), await harness.ask(said("m"))];
  assert.ok(first.$typeName === "lf.a2a.v1.Task" && again.$typeName === "lf.a2a.v1.Task");
  assert.equal(again.id, first.id);
  assert.equal(stateName(again), "INPUT_REQUIRED");
});
