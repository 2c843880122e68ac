import assert from "node:assert/strict";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, CanceledTask, ReplyRequest } from "../../src/core/agent.ts";
import { TaskError } from "../../src/core/errors.ts";
import { completed, inputRequired } from "../../src/core/events.ts";
import { aborted, agentOf, Gate, stateName } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

const part = (value: string) => ({ content: { case: "text" as const, value } });
const replying = (reply: NonNullable<Agent["reply"]>): Agent =>
  agentOf(
    async function* () {
      yield completed();
    },
    { reply },
  );
const reason = (wanted: string) => (error: unknown) => error instanceof TaskError && error.reason === wanted;

onEachStore("R-010 R-162 R-163 reply answers directly: a message of the agent's, in the caller's context, and no task", async (start) => {
  let asked: ReplyRequest | undefined;
  const agent = replying(async (request) => {
    asked = request;
    return { parts: [part("42")] };
  });
  await using harness = await start(agent);
  const answer = await harness.ask({ contextId: "c", parts: [part("6*7")] }, { principal: "ann", metadata: { k: 1 } });
  assert.ok(answer.$typeName === "lf.a2a.v1.Message");
  assert.equal(answer.parts[0]?.content.value, "42");
  assert.deepEqual([answer.role, answer.contextId, answer.taskId], [2, "c", ""]);
  assert.notEqual(answer.messageId, "");
  assert.equal(asked?.principal, "ann");
  assert.deepEqual(asked?.metadata, { k: 1 });
  const { total } = await harness.storage.list(
    { tenant: "", owner: "ann" },
    { contextId: undefined, state: undefined, since: undefined },
    undefined,
    1,
  );
  assert.equal(total, 0);
  await assert.rejects(() => harness.send("6*7"), TypeError);
});

onEachStore(
  "reply is asked in the same context again where a send without one is repeated, and in others for other sends",
  async (start) => {
    const contexts: string[] = [];
    const agent = replying(async ({ contextId }) => {
      contexts.push(contextId);
      throw new TaskError("INTERNAL", "not now");
    });
    await using harness = await start(agent);
    const said = { messageId: "m", parts: [part("go")] };
    for (const message of [said, said, { ...said, parts: [part("come")] }, { ...said, messageId: "n" }]) {
      await assert.rejects(() => harness.ask(message), reason("INTERNAL"));
    }
    await assert.rejects(() => harness.ask(said, { principal: "ann" }), reason("INTERNAL"));
    assert.equal(contexts[0], contexts[1]);
    assert.equal(new Set(contexts).size, 4);
  },
);

onEachStore("reply that gives nothing lets a task begin", async (start) => {
  await using harness = await start(replying(async () => undefined));
  assert.equal(stateName(await (await harness.send("go")).task()), "COMPLETED");
});

onEachStore("reply is not asked for a message on an existing task, nor for a repeat", async (start) => {
  let asked = 0;
  const agent: Agent = {
    ...replying(async () => {
      asked += 1;
      return undefined;
    }),
    async *run() {
      yield inputRequired("which?");
    },
  };
  await using harness = await start(agent);
  const message = { messageId: "m", parts: [part("go")] };
  const handle = await harness.send(message);
  await handle.task();
  await harness.send(message);
  await handle.followUp("blue");
  assert.equal(asked, 1);
});

onEachStore("reply that thinks for too long is given up: DEADLINE_EXCEEDED, its signal aborted, nothing stored", async (start) => {
  let signal: AbortSignal | undefined;
  const agent = replying(async (request) => {
    ({ signal } = request);
    await aborted(request.signal);
    return undefined;
  });
  await using harness = await start(agent, { replyTimeoutMs: 20 });
  await assert.rejects(() => harness.ask("go"), reason("DEADLINE_EXCEEDED"));
  assert.equal(signal?.aborted, true);
});

onEachStore("a task that reply begins when its caller has left, or after replyTimeoutMs, is there for who looks for it", async (start) => {
  const [asked, go] = [new Gate(), new Gate()];
  const agent = replying(async () => {
    asked.open();
    await go.opened;
    return { memo: { upstream: "u-1" } };
  });
  await using harness = await start(agent, { replyTimeoutMs: 20 });
  const message = { messageId: "m", contextId: "c", parts: [part("go")] };
  await assert.rejects(() => harness.send(message), reason("DEADLINE_EXCEEDED"));
  await asked.opened;
  go.open();
  const scope = { tenant: "", owner: "anonymous" };
  const filter = { contextId: "c", state: undefined, since: undefined };
  while ((await harness.storage.list(scope, filter, undefined, 1)).total === 0) await new Promise((resolve) => setImmediate(resolve));
  const repeat = await harness.send(message);
  assert.equal(stateName(await repeat.task()), "COMPLETED");
  assert.equal((await harness.storage.list(scope, filter, undefined, 1)).total, 1);
});

onEachStore("what reply began for a task that is too large to be kept is told to the agent", async (start) => {
  const told = Promise.withResolvers<CanceledTask>();
  const agent: Agent = { ...replying(async () => ({ memo: { upstream: "u-1" } })), canceled: async (task) => told.resolve(task) };
  await using harness = await start(agent, { maxTaskBytes: 2000 });
  await assert.rejects(() => harness.send("x".repeat(2000)), reason("MESSAGE_TOO_LARGE"));
  const { begun, memo } = await told.promise;
  assert.deepEqual([begun, memo], [false, { upstream: "u-1" }]);
});

onEachStore("R-254 reply that is not valid A2A is INVALID_AGENT_RESPONSE", async (start) => {
  const bad: MessageInitShape<typeof MessageSchema>[] = [
    { parts: [] },
    { parts: [{}] },
    { parts: [part("x")], role: 1 },
    { parts: [part("x")], taskId: "t" },
  ];
  for (const message of bad) {
    await using harness = await start(replying(async () => message));
    await assert.rejects(() => harness.ask("go"), reason("INVALID_AGENT_RESPONSE"));
  }
});
