import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type Action, INSTRUCTIONS, type RunInit, runModel } from "./promises-model.ts";

const index = fc.nat(5);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Action>({ is: "send" }) },
  { weight: 12, arbitrary: fc.record({ is: fc.constant("tell" as const), on: index, what: fc.constantFrom(...INSTRUCTIONS) }) },
  { weight: 4, arbitrary: fc.constant<Action>({ is: "tick" }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("follow up" as const), on: index }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("cancel" as const), on: index }) },
  { weight: 3, arbitrary: fc.record({ is: fc.constant("take over" as const), on: index }) },
  { weight: 1, arbitrary: fc.constantFrom<Action>({ is: "drain" }, { is: "sweep" }) },
  { weight: 3, arbitrary: fc.record({ is: fc.constant("checkpoint" as const), on: index }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constantFrom("subscribe" as const, "from start" as const), on: index }) },
  { weight: 8, arbitrary: fc.record({ is: fc.constantFrom("read" as const, "cut" as const, "resume" as const), reader: index }) },
);

const init: fc.Arbitrary<RunInit> = fc.record({
  resumable: fc.boolean(),
  acceptsMessages: fc.boolean(),
  capacity: fc.integer({ min: 1, max: 3 }),
  windowEntries: fc.integer({ min: 1, max: 4 }),
});

test("SV-01 SV-03 SV-04 PR-02 whatever happens in whatever order, the promises are kept", { timeout: 60_000 }, async () => {
  const actions = fc.array(action, { minLength: 5, maxLength: 45, size: "max" });
  await fc.assert(
    fc.asyncProperty(init, actions, async (setting, steps) => {
      assert.deepEqual(await runModel(setting, [{ is: "send" }, ...steps]), []);
    }),
    { numRuns: 1000 },
  );
});
