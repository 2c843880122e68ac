import assert from "node:assert/strict";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Turn } from "../../src/core/agent.ts";
import { type AgentEvent, artifact, completed, failed, inputRequired, rejected, status, working } from "../../src/core/events.ts";
import { agentOf, content, Gate, history, KeptLog, read, saidBy, shownLog, stateName, text, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("R-020 the task is SUBMITTED with the message in its history before the agent runs", async (start) => {
  let seen: Turn | undefined;
  const agent = agentOf(async function* (turn) {
    seen = turn;
    yield completed();
  });
  await using harness = await start(agent);
  const call = { principal: "ann", metadata: { k: 1 }, acceptedOutputModes: ["text/plain"], extensions: ["urn:x:v1"] };
  const handle = await harness.send("hello", call);
  assert.equal(stateName(handle.first), "SUBMITTED");
  assert.deepEqual(history(handle.first), ["hello"]);
  assert.ok(handle.first.status?.timestamp !== undefined);
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "COMPLETED"]);
  assert.ok(seen !== undefined);
  const { taskId, contextId, attempt, resumed, principal, tenant, metadata, acceptedOutputModes, extensions } = seen;
  assert.deepEqual(
    { taskId, contextId, attempt, resumed, principal, tenant, metadata, acceptedOutputModes, extensions },
    {
      taskId: handle.taskId,
      contextId: handle.contextId,
      attempt: 1,
      resumed: false,
      principal: "ann",
      tenant: "",
      metadata: { k: 1 },
      acceptedOutputModes: ["text/plain"],
      extensions: ["urn:x:v1"],
    },
  );
  assert.equal(textIn(seen.message), "hello");
});

onEachStore("WORKING goes before the first artifact, in the same batch", async (start, t) => {
  const agent = agentOf(async function* () {
    yield text("a", "1");
    yield text("a", "2", true);
  });
  await using harness = await start(agent, { workingAfterMs: 10_000 });
  const append = t.mock.method(harness.storage, "append");
  const handle = await harness.send("go");
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = 1", "a += 2", "COMPLETED"]);
  assert.ok((append.mock.calls[0]?.arguments[1].entries.length ?? 0) >= 2);
});

onEachStore("a status that the agent yields first stands first: no WORKING is added", async (start) => {
  const agent = agentOf(async function* () {
    yield working("on it");
    yield text("a", "1");
  });
  await using harness = await start(agent);
  assert.deepEqual(await read((await harness.send("go")).events), ["task SUBMITTED", "WORKING: on it", "a = 1", "COMPLETED"]);
});

onEachStore("a silent turn gets WORKING after workingAfterMs", async (start) => {
  const gate = new Gate();
  const agent = agentOf(async function* () {
    await gate.opened;
    yield completed("done");
  });
  await using harness = await start(agent, { workingAfterMs: 5 });
  const handle = await harness.send("go");
  const events = handle.events[Symbol.asyncIterator]();
  await events.next();
  const { value } = await events.next();
  assert.equal(value?.payload.value?.status?.state, TaskState.WORKING);
  gate.open();
  assert.equal(stateName(await handle.task()), "COMPLETED");
});

onEachStore("a turn that is over before workingAfterMs never shows WORKING", async (start) => {
  const agent = agentOf(async function* () {});
  await using harness = await start(agent, { workingAfterMs: 1000 });
  assert.deepEqual(await read((await harness.send("go")).events), ["task SUBMITTED", "COMPLETED"]);
});

onEachStore("R-252 R-376 throwing means FAILED with a safe message; the detail is in the process's log alone", async (start) => {
  const log = new KeptLog();
  const agent = agentOf(async function* () {
    yield text("a", "kept");
    throw new Error("password 1234");
  });
  await using harness = await start(agent, { log });
  const handle = await harness.send("go");
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = kept", "FAILED: the agent failed"]);
  assert.equal(content(await handle.task(), "a"), "kept");
  assert.ok(log.lines.some(({ facts }) => facts["error"] instanceof Error && facts["error"].message === "password 1234"));
});

onEachStore("an agent that throws before it yields, or is no generator at all, is FAILED too", async (start) => {
  const broken = [
    () => {
      throw new Error("at once");
    },
    () => undefined,
    () => ({}),
  ];
  for (const run of broken) {
    await using harness = await start(agentOf(run as never));
    assert.deepEqual(await read((await harness.send("go")).events), ["task SUBMITTED", "FAILED: the agent failed"]);
  }
});

onEachStore(
  "R-176 R-254 an event that is not valid A2A means FAILED as InvalidAgentResponse, and what was said before is kept",
  async (start) => {
    const invalid: Record<string, unknown> = {
      "no artifact": { case: "artifactUpdate", value: {} },
      "no artifact id": artifact({ artifactId: "", parts: [{ content: { case: "text", value: "x" } }] }),
      "no parts": artifact({ artifactId: "b", parts: [] }),
      "empty part": artifact({ artifactId: "b", parts: [{}] }),
      "no status": { case: "statusUpdate", value: {} },
      "no state": status(TaskState.UNSPECIFIED),
      "unknown state": status(99 as TaskState),
      "second SUBMITTED": status(TaskState.SUBMITTED),
      "another task": { case: "statusUpdate", value: { taskId: "other", status: { state: TaskState.WORKING } } },
      "another context": { case: "statusUpdate", value: { contextId: "other", status: { state: TaskState.WORKING } } },
      "a user's message": working({ role: 1, parts: [{ content: { case: "text", value: "x" } }] }),
      "a task": { case: "task", value: {} },
      nothing: undefined,
    };
    for (const [what, event] of Object.entries(invalid)) {
      const agent = agentOf(async function* () {
        yield text("a", "kept");
        yield event as AgentEvent;
        yield text("a", "never", true);
      });
      await using harness = await start(agent);
      const handle = await harness.send("go");
      const task = await handle.task();
      assert.equal(stateName(task), "FAILED", what);
      assert.match(saidBy(task), /^InvalidAgentResponse/, what);
      assert.equal(content(task, "a"), "kept", what);
    }
  },
);

onEachStore("C-31 append on an artifact that was never announced goes out as its first chunk", async (start) => {
  const agent = agentOf(async function* () {
    yield text("a", "1", true);
    yield text("a", "2", true);
    yield text("b", "3", true);
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  assert.deepEqual(await read(handle.events), ["task SUBMITTED", "WORKING", "a = 1", "a += 2", "b = 3", "COMPLETED"]);
});

onEachStore("a terminal event ends the generator: its finally runs, what it yields after is dropped", async (start) => {
  for (const [event, state] of [
    [completed("yes"), "COMPLETED"],
    [failed("no"), "FAILED"],
    [rejected("never"), "REJECTED"],
    [status(TaskState.CANCELED), "CANCELED"],
  ] as const) {
    const left = new Gate();
    let after = 0;
    const agent = agentOf(async function* () {
      try {
        yield event;
        after += 1;
        yield text("a", "dropped");
      } finally {
        left.open();
      }
    });
    await using harness = await start(agent);
    const handle = await harness.send("go");
    await left.opened;
    assert.equal(stateName(await handle.task()), state);
    assert.equal(after, 0);
    const log = shownLog(await harness.log(handle.taskId));
    assert.match(log.at(-1) ?? "", new RegExp(`^${state}`));
    assert.equal(log.length, 3);
  }
});

onEachStore("R-162 R-163 R-164 R-173 the ids, the role, the message id and the timestamp are filled in", async (start) => {
  const agent = agentOf(async function* () {
    yield inputRequired("which?");
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  const { status: asked, id } = await handle.task();
  assert.ok(asked?.timestamp !== undefined);
  const { message } = asked;
  assert.equal(message?.role, 2);
  assert.equal(message?.taskId, id);
  assert.equal(message?.contextId, handle.contextId);
  assert.notEqual(message?.messageId, "");
});

onEachStore("status timestamps never fall along a log", async (start) => {
  const agent = agentOf(async function* () {
    for (let count = 0; count < 50; count += 1) yield working(`${count}`);
  });
  await using harness = await start(agent);
  const handle = await harness.send("go");
  await handle.task();
  let last = 0;
  for (const entry of await harness.log(handle.taskId)) {
    if (entry.kind !== "event" || entry.event.payload.case !== "statusUpdate") continue;
    const { timestamp } = entry.event.payload.value.status ?? {};
    const time = Number(timestamp?.seconds) * 1000 + Number(timestamp?.nanos) / 1e6;
    assert.ok(time >= last);
    last = time;
  }
});

onEachStore("the turn shows the task with what was stored, and the history with the message", async (start) => {
  const seen: unknown[] = [];
  const agent = agentOf(async function* (turn) {
    yield text("a", "1");
    yield working("half");
    while (turn.task.status?.message === undefined) await new Promise((resolve) => setImmediate(resolve));
    seen.push(
      content(turn.task, "a"),
      stateName(turn.task),
      turn.history.map(({ parts }) => parts[0]?.content.value),
    );
  });
  await using harness = await start(agent);
  await (await harness.send("go")).task();
  assert.deepEqual(seen, ["1", "WORKING", ["go"]]);
});

onEachStore("an agent that never awaits leaves the event loop its turns", async (start) => {
  const count = 20_000;
  const agent = agentOf(async function* () {
    for (let index = 0; index < count; index += 1) yield text("a", "0123456789", index > 0);
  });
  await using harness = await start(agent);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const handle = await harness.send("go");
  const task = await handle.task();
  clearInterval(timer);
  assert.equal(content(task, "a").length, count * 10);
  // Several hundred milliseconds of work: without the worker's pauses the timer fires once, at its end.
  assert.ok(turns >= 10, `the event loop turned ${turns} times`);
});
