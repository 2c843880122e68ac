import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { assertOutcome, assertServes, sharedHostileBed } from "./bed.ts";
import { binaryVariants } from "./binary-variants.ts";
import { fieldPaths, jsonPath, METHODS } from "./request-fields.ts";

for (const method of METHODS) {
  suite(
    `each wrong binary for a field of ${method.name} is answered in the binding's form, begins nothing, and the next request is served`,
    () => {
      const bed = sharedHostileBed();
      const sends = method.name.startsWith("Send");

      for (const path of fieldPaths(method.input)) {
        test(`R-251 R-267 R-271 ${jsonPath(path)}`, async () => {
          const { binary, targets } = bed();
          const before = await bed().tasks();
          let begun = 0;
          for (const surface of binary) {
            for (const { name, request, outcome } of binaryVariants(method, path, targets)) {
              try {
                assertOutcome(await surface.send(method, request), outcome, surface);
                if (sends && outcome === "ok") begun += 1;
                else await assertServes(surface);
              } catch (error) {
                throw new Error(`${surface.name}: ${name}: ${(error as Error).message}`, { cause: error });
              }
            }
          }
          assert.equal((await bed().tasks()) - before, begun, "as many tasks as sends were taken");
        });
      }
    },
  );
}
