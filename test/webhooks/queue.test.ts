/** Webhooks of one host that wait for each other: a replica that is to go does not wait for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBed, startTask } from "../bindings/bed.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { Receiver } from "./receiver.ts";
import { isEnded } from "./shown.ts";
import { PUSH } from "./webhook-bed.ts";

const TASKS = 40;

test("a drain leaves those that wait for their turn at a host that hangs to the next replica at once", async () => {
  const redis = await fileRedis();
  await using receiver = await Receiver.open();
  receiver.answer = () => undefined;
  const push = { ...PUSH, perHost: 2, timeoutMs: 3_600_000 };
  const leases = { leaseMs: 3_600_000, renewMs: 5000 };
  const one = await openBed({ redis, push, ...leases });
  const configuration = { taskPushNotificationConfig: { url: receiver.url() }, returnImmediately: true };
  for (let at = 0; at < TASKS; at += 1) await startTask(one.rest, "complete", { configuration });
  await receiver.until(({ length }) => length === 2);
  await one[Symbol.asyncDispose]();
  assert.equal(receiver.received.length, 2, "nothing more was begun");
  receiver.answer = 200;
  await using _other = await openBed({ redis, push, ...leases });
  const ended = (): number => receiver.received.filter((received) => isEnded([received])).length;
  await receiver.until(() => ended() === TASKS);
});
