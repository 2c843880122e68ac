import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "../src/clock.js";
import { backoffMs, retry, TemporaryError } from "../src/retry.js";

/** Fails the given number of times, then answers the attempt. */
const failing = (times, error = () => new TemporaryError("away")) => {
  return async (attempt) => {
    if (attempt <= times) throw error();
    return attempt;
  };
};

describe("backoff", () => {
  it("doubles up to its bound", () => {
    const waits = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(attempt, { baseMs: 100, maxMs: 1_000 }));
    assert.deepEqual(waits, [100, 200, 400, 800, 1_000, 1_000]);
  });

  it("takes at most half away by chance", () => {
    const options = { baseMs: 100, maxMs: 1_000 };
    assert.equal(backoffMs(2, { ...options, random: () => 0 }), 200);
    assert.equal(backoffMs(2, { ...options, random: () => 0.5 }), 150);
    assert.ok(backoffMs(2, { ...options, random: () => 0.999 }) >= 100);
  });

  it("stays finite after a thousand attempts", () => {
    assert.equal(backoffMs(5_000, { baseMs: 100, maxMs: 1_000 }), 1_000);
  });
});

describe("retry", () => {
  it("answers at once what succeeds at once", async () => {
    const clock = new ManualClock();
    assert.equal(await retry(failing(0), { clock }), 1);
    assert.deepEqual(clock.slept, []);
  });

  it("waits longer after every failure", async () => {
    const clock = new ManualClock();
    assert.equal(await retry(failing(3), { clock, attempts: 4, baseMs: 50 }), 4);
    assert.deepEqual(clock.slept, [50, 100, 200]);
  });

  it("really waits", async () => {
    const began = performance.now();
    assert.equal(await retry(failing(3), { attempts: 4, baseMs: 70 }), 4);
    assert.ok(performance.now() - began >= 485);
  });

  it("throws the last error when the attempts are used up", async () => {
    let calls = 0;
    const work = async () => {
      throw new TemporaryError(`away ${++calls}`);
    };
    await assert.rejects(retry(work, { attempts: 3, baseMs: 80 }), { message: "away 3" });
  });

  it("does not repeat what failed for good", async () => {
    const clock = new ManualClock();
    await assert.rejects(
      retry(
        failing(1, () => new Error("declined")),
        { clock },
      ),
      { message: "declined" },
    );
    assert.deepEqual(clock.slept, []);
  });

  it("waits as long as the other side asked", async () => {
    const clock = new ManualClock();
    await retry(
      failing(1, () => new TemporaryError("busy", { retryAfterMs: 3_000 })),
      { clock, baseMs: 50 },
    );
    assert.deepEqual(clock.slept, [3_000]);
  });

  it("is not hurried by a shorter wish of the other side", async () => {
    const began = performance.now();
    await retry(
      failing(1, () => new TemporaryError("busy", { retryAfterMs: 5 })),
      { baseMs: 200 },
    );
    assert.ok(performance.now() - began >= 195);
  });

  it("stops in the middle of a wait", async () => {
    let calls = 0;
    const work = async () => {
      calls += 1;
      throw new TemporaryError("away");
    };
    await assert.rejects(retry(work, { baseMs: 60_000, maxMs: 60_000, signal: AbortSignal.timeout(250) }), { name: "TimeoutError" });
    assert.equal(calls, 1);
  });

  it("does not begin for a signal that is aborted already", async () => {
    let calls = 0;
    await assert.rejects(
      retry(async () => calls++, { signal: AbortSignal.abort() }),
      { name: "AbortError" },
    );
    assert.equal(calls, 0);
  });
});
