/** A subscription whose store is slow: whatever happens while it reads, its reader has each chunk once. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { brief, collect, nextFrame, openBed, send } from "../bindings/bed.ts";
import { HookedStorage } from "../bindings/hooked-storage.ts";

/** The texts of an artifact, in a task or in an update. */
function textsOf(artifacts: unknown): string[] {
  return ((artifacts ?? []) as { parts: { text: string }[] }[]).flatMap(({ parts }) => parts.map(({ text }) => text));
}

suite("a subscription while its store is slow", { timeout: 60_000 }, () => {
  /** How often the agent goes on between the reading of the task's record and the reading of its log. */
  for (const steps of [0, 1, 2, 3]) {
    test(`PR-02 SV-04 has each chunk once, in the task or behind it: ${steps} steps meanwhile`, async () => {
      const storage = new HookedStorage();
      await using bed = await openBed({ storage });
      for (const caller of bed.callers) {
        const gate = bed.agent.gate();
        const sender = caller.stream("SendStreamingMessage", send(`chunks ${gate.name}`));
        const { task } = (await nextFrame(sender)) as { task: { id: string } };
        assert.deepEqual([brief(await nextFrame(sender)), brief(await nextFrame(sender))], ["status WORKING", "artifact log"]);
        const reading = Promise.withResolvers<void>();
        const goOn = Promise.withResolvers<void>();
        storage.afterMeta = async () => {
          storage.afterMeta = undefined;
          reading.resolve();
          await goOn.promise;
        };
        const late = caller.stream("SubscribeToTask", { id: task.id });
        const first = nextFrame(late);
        await reading.promise;
        for (let step = 0; step < steps; step += 1) {
          gate.open();
          await nextFrame(sender);
        }
        goOn.resolve();
        const { task: snapshot } = (await first) as { task: JsonObject };
        gate.open(3 - steps);
        const { frames, end } = await collect(late);
        assert.equal(end, "clean");
        const updates = frames.flatMap(({ artifactUpdate }) =>
          artifactUpdate ? textsOf([(artifactUpdate as JsonObject)["artifact"]]) : [],
        );
        const seen = [...textsOf(snapshot["artifacts"]), ...updates];
        assert.deepEqual(seen, ["one ", "two ", "three"], caller.binding);
        await collect(sender);
      }
    });
  }
});
