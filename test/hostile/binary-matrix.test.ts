import { suite, test } from "node:test";
import { attack, sharedHostileBed } from "./bed.ts";
import { binaryVariants } from "./binary-variants.ts";
import { attackedPaths, jsonPath, METHODS } from "./request-fields.ts";

for (const method of METHODS) {
  suite(`each wrong binary for a field of ${method.name} is told of, begins nothing, and the next is served`, () => {
    const bed = sharedHostileBed();

    for (const path of attackedPaths(method)) {
      test(`R-250 R-251 R-268 R-271 ${jsonPath(path)}`, async () => {
        const { binary, targets } = bed();
        for (const surface of binary) await attack(bed(), surface, method, binaryVariants(method, path, targets));
      });
    }
  });
}
