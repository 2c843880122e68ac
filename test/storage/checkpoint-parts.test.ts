/** A checkpoint whose parts went before its pointer was switched: expired while its writer stood still, or lost in a failover. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isRefused } from "../../src/core/errors.ts";
import { chunk, type LabTask, places, status } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { aroundScript } from "./around-script.ts";
import { allKeys, keysOf, openLab, storedLog } from "./store-bed.ts";

/** Three parts. */
const BYTES = Buffer.alloc(2 * 1024 * 1024 + 10, 1);
const ENTRIES = 30;

for (const sealed of [false, true]) {
  test(`a checkpoint of ${sealed ? "a sealed" : "an owned"} log of which a part has gone is refused, trims nothing, and leaves the earlier one standing`, async (t) => {
    await using server = await redisServer();
    await using lab = await openLab(server.url, { windowEntries: 2 });
    const task = await lab.owned();
    await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: Buffer.from("earlier") });
    const earlier = { position: task.position, bytes: "earlier" };
    const standing = await allKeys(server);
    for (let count = 0; count < ENTRIES; count += 1) await task.append([chunk()]);
    if (sealed) await task.append([status(TaskState.COMPLETED)], { state: TaskState.COMPLETED, consumed: 2 });
    const log = await storedLog(server, task.id);
    let gone = true;
    let part = 0;
    aroundScript(t, "checkpoint", async (send) => {
      const parts = (await allKeys(server)).filter((name) => name.includes(":c:") && !standing.includes(name));
      if (gone) await server.call("DEL", parts[part] ?? "");
      return send();
    });
    const checkpoint = (): Promise<void> =>
      lab.storage.checkpoint(task.id, sealed ? undefined : task.lease, { position: task.position, bytes: BYTES });
    for (; part < 3; part += 1) {
      await assert.rejects(checkpoint(), (error) => isRefused(error, "STALE"));
      assert.deepEqual(places(await storedLog(server, task.id)), places(log));
      const stands = await lab.storage.checkpointOf(task.id);
      assert.deepEqual({ position: stands?.position, bytes: stands && Buffer.from(stands.bytes).toString() }, earlier);
      assert.deepEqual(
        await partsOf(task),
        standing.filter((name) => name.includes(":c:")),
        "what was left of it is taken back",
      );
    }
    gone = false;
    await checkpoint();
    assert.ok((await storedLog(server, task.id)).length < log.length);
    assert.ok(BYTES.equals((await lab.storage.checkpointOf(task.id))?.bytes ?? Buffer.of()));

    async function partsOf({ id }: LabTask): Promise<string[]> {
      return (await allKeys(server)).filter((name) => name.startsWith(keysOf(id).part(id, "", 0).slice(0, -2)));
    }
  });
}
