import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { memo, textPart, working } from "../../src/core/events.ts";
import { agentOf, Gate, read, textIn } from "./bed.ts";
import { onEachStore } from "./each-store.ts";

onEachStore("what a turn says of its call is said of the one whose message next() gave last", async (start) => {
  const begun = new Gate();
  const calls: unknown[] = [];
  const agent = agentOf(
    async function* (turn) {
      const note = (): void =>
        void calls.push([turn.principal, turn.scopes, turn.metadata, turn.acceptedOutputModes, textIn(turn.message)]);
      yield working();
      note();
      begun.open();
      await turn.next();
      note();
    },
    { acceptsMessages: true },
  );
  await using harness = await start(agent);
  const handle = await harness.send("go", { principal: "ann", metadata: { n: 1 }, acceptedOutputModes: ["text/plain"] });
  await begun.opened;
  await handle.followUp("more", { principal: "ann", metadata: { n: 2 } });
  await handle.task();
  assert.deepEqual(calls, [
    ["ann", [], { n: 1 }, ["text/plain"], "go"],
    ["ann", [], { n: 2 }, [], "go"],
  ]);
});

onEachStore("an agent around another one may hand on a copy of the turn with a message of its own", async (start) => {
  const inner = agentOf(async function* (turn) {
    yield working(`${textIn(turn.message)} ${turn.taskId === turn.task.id} ${turn.history.map(textIn).join()} ${turn.principal}`);
    const { count = 0 } = (await turn.memoOf(turn.taskId)) ?? {};
    yield memo({ count: Number(count) + 1 });
  });
  const agent = agentOf((turn) => inner.run({ ...turn, message: create(MessageSchema, { parts: [textPart("other")] }) }));
  await using harness = await start(agent);
  const handle = await harness.send("go", { principal: "ann" });
  assert.deepEqual((await read(handle.events)).slice(1), ["WORKING: other true go ann", "COMPLETED"]);
});
