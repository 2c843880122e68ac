/** Quotas: counted in one step, refilled by time, each under its key. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, type OpenStore } from "./lab.ts";

/** One in a hundred seconds: none comes back while a test runs. */
const SLOW = { perSecond: 0.01, burst: 5 };

/** Quotas. */
export function quotaContract(open: OpenStore): void {
  test("a quota grants as many as it has left, and says when there is one more", async () => {
    await using lab = await Lab.open(open);
    assert.deepEqual(await lab.storage.spend("a", SLOW, 3), { granted: 3, retryAfterMs: 0 });
    const { granted, retryAfterMs } = await lab.storage.spend("a", SLOW, 3);
    assert.equal(granted, 2);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 100_000, String(retryAfterMs));
    const none = await lab.storage.spend("a", SLOW, 1);
    assert.equal(none.granted, 0);
    assert.ok(none.retryAfterMs > 0 && none.retryAfterMs <= retryAfterMs, String(none.retryAfterMs));
  });

  test("quotas under other keys, whatever these hold, are other quotas", async () => {
    await using lab = await Lab.open(open);
    for (const key of ["SendMessage:p:a", "SendMessage:p:{b}", "GetTask:p:a", "SendMessage:p:ä\r\n*"]) {
      assert.deepEqual(await lab.storage.spend(key, SLOW, 4), { granted: 4, retryAfterMs: 0 }, key);
    }
  });

  test("many who spend at once get no more than there is", async () => {
    await using lab = await Lab.open(open);
    const spent = await Promise.all(Array.from({ length: 20 }, async () => lab.storage.spend("a", SLOW, 1)));
    assert.equal(spent.filter(({ granted }) => granted === 1).length, SLOW.burst);
  });

  test("what was spent comes back by time, one after the other, and no more than the quota", async () => {
    await using lab = await Lab.open(open);
    const quota = { perSecond: 10, burst: 2 };
    assert.equal((await lab.storage.spend("a", quota, 2)).granted, 2);
    await lab.pass(150);
    assert.ok((await lab.storage.spend("a", quota, 1)).granted === 1);
    await lab.pass(2000);
    assert.equal((await lab.storage.spend("a", quota, 10)).granted, 2);
  });

  test("a quota that has become smaller counts from now on", async () => {
    await using lab = await Lab.open(open);
    assert.equal((await lab.storage.spend("a", { perSecond: 0.01, burst: 100 }, 100)).granted, 100);
    const { granted, retryAfterMs } = await lab.storage.spend("a", { perSecond: 100, burst: 1 }, 1);
    assert.equal(granted, 0);
    assert.ok(retryAfterMs <= 10, String(retryAfterMs));
  });
}
