/** What tasks that wait for their callers cost a replica. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { Follower } from "../../../src/core/follow.ts";
import { LeasedTask } from "../../../src/worker/leased-task.ts";
import { TurnRun } from "../../../src/worker/turn.ts";
import { fileRedis } from "../../redis/file-redis.ts";
import { until } from "../../redis/until.ts";
import { openBed, send } from "../bed.ts";

const WITHIN_MS = 60_000;
/** Enough that one of anything for each of them shows. */
const WAITING = 400;

for (const where of ["in memory", "on Redis"]) {
  test(`P-15 ${WAITING} tasks that wait for an answer hold no turn, lease or reader (${where})`, { timeout: 120_000 }, async () => {
    await using bed = await openBed(where === "on Redis" ? { redis: await fileRedis() } : {});
    const { grpc } = bed;
    for (let at = 0; at < WAITING; at += 100) {
      await Promise.all(Array.from({ length: 100 }, () => grpc.unary("SendMessage", send("input"))));
    }
    assert.equal((await grpc.unary("ListTasks", { status: "TASK_STATE_INPUT_REQUIRED", pageSize: 1 })).message["totalSize"], WAITING);
    await until("nothing is held", WITHIN_MS, async () => {
      await delay(500);
      return [LeasedTask, TurnRun, Follower].every((kind) => queryObjects(kind, { format: "count" }) === 0);
    });
  });
}
