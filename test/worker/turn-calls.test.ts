import assert from "node:assert/strict";
import { working } from "../../src/core/events.ts";
import { agentOf, Gate, textIn } from "./bed.ts";
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
