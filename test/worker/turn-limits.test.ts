/** How long a turn may take and what it may yield. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnAborted, type Turn } from "../../src/core/agent.ts";
import { TaskError } from "../../src/core/errors.ts";
import { type AgentEvent, completed, inputRequired, working } from "../../src/core/events.ts";
import { TurnClock } from "../../src/worker/turn-bounds.ts";
import { aborted, agentOf, content, Gate, saidBy, stateName, text } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

/** An agent whose turn never ends by itself, and what its signal says in the end. */
function endless(begin: (turn: Turn) => AsyncIterable<AgentEvent>): {
  agent: ReturnType<typeof agentOf>;
  left: Gate;
  reason: () => unknown;
} {
  const left = new Gate();
  let reason: unknown;
  const agent = agentOf(async function* (turn) {
    try {
      yield* begin(turn);
      await aborted(turn.signal);
      yield completed("too late");
    } finally {
      reason = turn.signal.reason;
      left.open();
    }
  });
  return { agent, left, reason: () => reason };
}

onEachStore(
  "a turn that works longer than maxTurnMs ends its task FAILED with that cause; what it yielded is kept, its signal aborts",
  async (start) => {
    const { agent, left, reason } = endless(async function* () {
      yield text("a", "kept");
    });
    await using harness = await start(agent, { limits: { maxTurnMs: 200 } });
    const task = await (await harness.send("go")).task();
    assert.equal(stateName(task), "FAILED");
    assert.match(saidBy(task), /the turn took longer than 200 ms/);
    assert.equal(content(task, "a"), "kept");
    await left.opened;
    const cause = reason();
    assert.ok(cause instanceof TurnAborted && cause.abortCause === "failed");
  },
);

onEachStore("a turn that never awaits anything but its own events is ended too", async (start) => {
  const agent = agentOf(async function* () {
    for (;;) yield working("still");
  });
  await using harness = await start(agent, { limits: { maxTurnMs: 100 }, historyLimit: 3 });
  assert.match(saidBy(await (await harness.send("go")).task()), /longer than 100 ms/);
});

onEachStore("a turn without a bound, and one that is quick, end as they like", async (start) => {
  const agent = agentOf(async function* () {
    yield completed("done");
  });
  for (const limits of [{}, { maxTurnMs: 60_000 }]) {
    await using harness = await start(agent, { limits });
    assert.equal(stateName(await (await harness.send("go")).task()), "COMPLETED");
  }
});

test("the time in which a turn waits for its caller does not count, all else adds up", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const pass = (ms: number): void => {
    now += ms;
    t.mock.timers.tick(ms);
  };
  let over = 0;
  const clock = new TurnClock(100, () => (over += 1));
  clock.run();
  pass(60);
  clock.stop();
  clock.stop();
  pass(1000);
  clock.run();
  clock.run();
  pass(39);
  assert.equal(over, 0);
  pass(1);
  assert.equal(over, 1);
});

onEachStore("a turn that stays alive while its task is interrupted may wait for longer than maxTurnMs", async (start) => {
  const agent = agentOf(async function* (turn) {
    yield inputRequired("more?");
    await turn.next();
    yield completed("done");
  });
  await using harness = await start(agent, { limits: { maxTurnMs: 1000 } });
  const handle = await harness.send("go");
  await handle.task();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(stateName(await harness.read(handle.taskId)), "INPUT_REQUIRED");
  const answered = await handle.followUp("more");
  assert.equal(stateName(await (answered ?? handle).task()), "COMPLETED");
});

const TOO_MUCH: Readonly<Record<string, { limits: object; says: RegExp; run: () => AsyncIterable<AgentEvent> }>> = {
  "an event that is too large": {
    limits: { eventBytes: 2000 },
    says: /an event would be larger than 2000 bytes/,
    async *run() {
      yield text("a", "kept");
      yield text("b", "x".repeat(3000));
    },
  },
  "a message of too many parts": {
    limits: { partsPerMessage: 3 },
    says: /more than 3 parts/,
    async *run() {
      yield text("a", "kept");
      const parts = Array.from({ length: 4 }, () => ({ content: { case: "text" as const, value: "x" } }));
      yield { case: "statusUpdate", value: { status: { state: 2, message: { parts } } } };
    },
  },
  "an artifact of too many parts, in whatever chunks": {
    limits: { partsPerArtifact: 3 },
    says: /an artifact would have more than 3 parts/,
    async *run() {
      yield text("a", "ke");
      yield text("a", "p", true);
      yield text("a", "t", true);
      yield text("a", "no more", true);
    },
  },
  "too many artifacts": {
    limits: { artifactsPerTask: 2 },
    says: /the task would have more than 2 artifacts/,
    async *run() {
      yield text("a", "kept");
      yield text("b", "one");
      for (let count = 0; count < 10; count += 1) yield text("b", "again");
      yield text("c", "two");
    },
  },
};

for (const [what, over] of Object.entries(TOO_MUCH)) {
  onEachStore(`${what} ends the task FAILED with that cause; earlier content is kept, the turn aborted`, async (start) => {
    const left = new Gate();
    let reason: unknown;
    const agent = agentOf(async function* ({ signal }) {
      try {
        yield* over.run();
        yield completed("done");
      } finally {
        reason = signal.reason;
        left.open();
      }
    });
    await using harness = await start(agent, { limits: over.limits });
    const task = await (await harness.send("go")).task();
    assert.equal(stateName(task), "FAILED");
    assert.match(saidBy(task), over.says);
    assert.equal(content(task, "a"), "kept");
    await left.opened;
    assert.ok(reason === undefined || (reason instanceof TurnAborted && reason.abortCause === "failed"));
  });
}

onEachStore(
  "R-251 a message that is larger than an event may be, or has too many parts, is refused with its field named, and nothing is stored",
  async (start) => {
    const agent = agentOf(async function* () {
      yield inputRequired("more?");
    });
    await using harness = await start(agent, { limits: { eventBytes: 2000 } });
    const refused = (error: unknown): boolean =>
      error instanceof TaskError && error.reason === "MESSAGE_TOO_LARGE" && error.violations[0]?.field === "message";
    await assert.rejects(() => harness.send("x".repeat(3000)), refused);
    const handle = await harness.send("go");
    await handle.task();
    await assert.rejects(() => handle.followUp("x".repeat(3000)), refused);
    assert.equal(stateName(await harness.read(handle.taskId)), "INPUT_REQUIRED");
  },
);
