/** A short run of each target, the same each time; `npm run fuzz` runs for longer. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fuzz } from "./fuzz.ts";
import { Random } from "./random.ts";
import { TARGETS } from "./targets/index.ts";

/** A stored input takes longer: it is a few calls of each kind. */
const INPUTS: Readonly<Record<string, number>> = { stored: 40 };

suite("fuzzing", { concurrency: 1 }, () => {
  for (const target of TARGETS) {
    test(`${target.name}: no crash, no hang, no error that nobody takes`, { timeout: 240_000 }, async () => {
      const inputs = INPUTS[target.name] ?? 300;
      const result = await fuzz(target, { seed: 1, from: 0, inputs, minutes: 3 });
      assert.ok(result.inputs > 0);
    });
  }

  test("the same seed draws the same", () => {
    const draw = (): unknown[] => {
      const random = new Random(7);
      return [random.mutated(Buffer.from("abc")), random.json(["a", "b"]), random.below(1000)];
    };
    assert.deepEqual(draw(), draw());
    assert.notDeepEqual(new Random(8).bytes(8), new Random(7).bytes(8));
  });
});
