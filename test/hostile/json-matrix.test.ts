import { suite, test } from "node:test";
import { attack, sharedHostileBed } from "./bed.ts";
import { jsonVariants } from "./json-variants.ts";
import { attackedPaths, jsonPath, METHODS } from "./request-fields.ts";

for (const method of METHODS) {
  suite(`each wrong JSON for a field of ${method.name} is told of, begins nothing, and the next is served`, () => {
    const bed = sharedHostileBed();

    for (const path of attackedPaths(method)) {
      test(`R-250 R-251 R-265 R-268 R-271 ${jsonPath(path)}`, async () => {
        const { json, targets } = bed();
        for (const surface of json) await attack(bed(), surface, method, jsonVariants(surface, method, path, targets));
      });
    }
  });
}
