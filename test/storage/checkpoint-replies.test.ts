/** A checkpoint whose reply was lost: it stands with all its parts, or it does not stand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { untilAnswered } from "../../src/core/retrying.ts";
import { SCRIPTS } from "../../src/storage/redis/scripts.ts";
import { chunk } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { openLab } from "./store-bed.ts";

test("a checkpoint that was carried out, its reply lost, is there when it is tried again, whole", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using lab = await openLab(proxy.url, { windowEntries: 2 });
  const task = await lab.owned();
  await lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes: Buffer.from("first") });
  for (let round = 0; round < 5; round += 1) {
    await task.append([chunk(), chunk(), chunk()]);
    const bytes = Buffer.alloc(1_500_000, round);
    const dropped = proxy.dropNextReply({ match: (request) => request.includes(SCRIPTS.checkpoint.sha) });
    await untilAnswered(
      () => lab.storage.checkpoint(task.id, task.lease, { position: task.position, bytes }),
      () => false,
    );
    await dropped;
    const stored = await lab.storage.checkpointOf(task.id);
    assert.deepEqual(stored?.position, task.position);
    assert.ok(bytes.equals(stored.bytes));
    const pointed = (await server.call("KEYS", "*:c:*")) as string[];
    assert.equal(pointed.length, 2);
    for (const key of pointed) assert.equal(await server.call("PTTL", key), -1);
  }
});
