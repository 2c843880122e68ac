/** What readers share on one replica: who comes while another one's attempt has failed or is being given up still hears everything. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { chunk, LabTask } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { openLab } from "./store-bed.ts";

/** Longer than a subscription outlives its last reader. */
const LEFT_MS = 1100;
/** Longer than a call is tried again. */
const GIVEN_UP_MS = 700;

test("a reader that comes while the subscription of an earlier one is given up is not given up with it", async () => {
  await using server = await redisServer();
  await using proxy = await TcpProxy.open(server);
  await using lab = await openLab(proxy.url, { commandTimeoutMs: 10_000 });
  await using other = await openLab(server.url);
  const created = await other.owned();
  const task = new LabTask(other.storage, created.id, created.position, created.lease, created.statusTime);
  proxy.pauseReplies();
  const early = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const unanswered = early.next();
  await early.return?.();
  await delay(LEFT_MS);
  const late = lab.storage.tail(task.id, task.position, AbortSignal.timeout(20_000));
  const waiting = late.next();
  await delay(GIVEN_UP_MS);
  proxy.cut();
  proxy.resumeReplies();
  await unanswered;
  for (let count = 0; count < 3; count += 1) await task.append([chunk()]);
  const step = await waiting;
  assert.ok(step.done !== true && step.value.is === "entries");
  let seen = step.value.entries.at(-1)?.offset ?? 0;
  while (seen < task.position.offset) {
    const next = await late.next();
    assert.ok(next.done !== true && next.value.is === "entries");
    seen = next.value.entries.at(-1)?.offset ?? 0;
  }
  const after = late.next();
  const [appended] = await task.append([chunk()]);
  const last = await after;
  assert.ok(last.done !== true && last.value.is === "entries");
  assert.equal(last.value.entries[0]?.mark, appended?.mark);
  await late.return?.();
});
