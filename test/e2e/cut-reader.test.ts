/** A client that stops reading is ended in the end; its task is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { FLOOD_BYTES, flood, readAll, SURFACES } from "./stalled-readers.ts";

test("SV-05 a reader that takes nothing for stalledStreamMs is cut, and the task goes on", { timeout: 280_000 }, async (t) => {
  for (const [name, stalled, cut] of SURFACES) {
    await t.test(name, async () => {
      await using server = await flood({ stalledStreamMs: 2500, stallFlushMs: 50 });
      const caller = new GrpcCaller(server.ports.grpc);
      const begun = server.said<string>("begun");
      const reader = stalled(server.ports, FLOOD_BYTES);
      await readAll(caller, await begun, () => server.go());
      assert.equal(await reader.cut(), cut);
      reader.close();
      caller.close();
    });
  }
});
