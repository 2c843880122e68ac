/** What an agent yields is made our own: later changes, odd types and odd iterators of the agent harm nobody. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Agent, artifact, completed, TaskArtifactUpdateEventSchema, textPart, working } from "../../src/index.ts";
import { testAgent } from "../../src/testing/index.ts";

const card = { name: "foreign", description: "Yields what it should not", version: "1.0.0" };
const agentOf = (run: Agent["run"]): Agent => ({ card, run });

const texts = (parts: readonly { content: { value?: unknown } }[] = []): unknown[] => parts.map(({ content }) => content.value);

test("an object that the agent reuses for every chunk is logged as it was when it was yielded", async () => {
  const part = { content: { case: "text" as const, value: "" } };
  const metadata = { round: 0 };
  await using harness = await testAgent(
    agentOf(async function* () {
      for (let round = 0; round < 4; round += 1) {
        part.content.value = String(round);
        metadata.round = round;
        yield artifact({ artifactId: "a", parts: [part], metadata }, { append: round > 0 });
      }
      part.content.value = "later";
      yield completed();
    }),
  );
  const handle = await harness.send("go");
  const seen: unknown[] = [];
  for await (const { payload } of handle.events) {
    if (payload.case === "artifactUpdate")
      seen.push([...texts(payload.value.artifact?.parts), payload.value.artifact?.metadata?.["round"]]);
  }
  assert.deepEqual(seen, [
    ["0", 0],
    ["1", 1],
    ["2", 2],
    ["3", 3],
  ]);
  assert.deepEqual(texts((await handle.task()).artifacts[0]?.parts), ["0", "1", "2", "3"]);
});

test("one message yielded three times is three chunks, and the agent's own object is left alone", async () => {
  const event = create(TaskArtifactUpdateEventSchema, { artifact: { artifactId: "a", parts: [textPart("x")] }, append: true });
  await using harness = await testAgent(
    agentOf(async function* () {
      for (let round = 0; round < 3; round += 1) yield { case: "artifactUpdate", value: event };
    }),
  );
  const task = await (await harness.send("go")).task();
  assert.deepEqual(texts(task.artifacts[0]?.parts), ["x", "x", "x"]);
  assert.deepEqual([event.append, event.taskId], [true, ""]);
});

let deep: object = {};
for (let level = 0; level < 200; level += 1) deep = { deep };
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

for (const [name, value] of Object.entries<unknown>({
  "NaN in metadata": { artifactId: "a", parts: [textPart("x")], metadata: { n: Number.NaN } },
  "metadata nested 200 deep": { artifactId: "a", parts: [textPart("x")], metadata: deep },
  "metadata that holds itself": { artifactId: "a", parts: [textPart("x")], metadata: cyclic },
  "a value without a kind": { artifactId: "a", parts: [{ content: { case: "data", value: {} } }] },
  "parts that are no list": { artifactId: "a", parts: "abc" },
  "a part that is null": { artifactId: "a", parts: [null] },
})) {
  test(`an agent that yields ${name} ends FAILED as InvalidAgentResponse, and everything else can be read`, async () => {
    await using harness = await testAgent(
      agentOf(async function* () {
        yield { case: "artifactUpdate", value: { artifact: value } } as never;
      }),
    );
    const { status, artifacts } = await (await harness.send("go")).task();
    assert.match(JSON.stringify(texts(status?.message?.parts)), /InvalidAgentResponse/);
    assert.deepEqual(artifacts, []);
  });
}

test("half a surrogate pair is the same text for every reader", async () => {
  await using harness = await testAgent(
    agentOf(async function* () {
      yield artifact({ artifactId: "a", parts: [textPart("x\ud83d")] });
    }),
  );
  assert.deepEqual(texts((await (await harness.send("go")).task()).artifacts[0]?.parts), ["x\ufffd"]);
});

for (const [name, leave] of Object.entries<unknown>({
  "throws in return()": () => {
    throw new Error("no way out");
  },
  "has a return that is no function": 5,
})) {
  test(`an iterator by hand that ${name} ends its task as any other`, async () => {
    let step = 0;
    const steps = [working("on it"), completed("done")];
    const iterator = {
      [Symbol.asyncIterator]: () => iterator,
      next: async () => ({ done: false, value: steps[step++] }),
      return: leave,
    };
    await using harness = await testAgent(agentOf(() => iterator as never));
    const { status } = await (await harness.send("go")).task();
    assert.equal(status?.message?.parts[0]?.content.value, "done");
  });
}
