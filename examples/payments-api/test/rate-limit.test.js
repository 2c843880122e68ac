import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock, systemClock } from "../src/clock.js";
import { RateLimiter } from "../src/rate-limit.js";

describe("a caller", () => {
  it("is let through up to the limit", () => {
    const limiter = new RateLimiter({ limit: 3, windowMs: 1_000, clock: new ManualClock() });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => limiter.take("a").allowed),
      [true, true, true, false],
    );
  });

  it("hears how many calls are left and when to come back", () => {
    const clock = new ManualClock();
    const limiter = new RateLimiter({ limit: 2, windowMs: 1_000, clock });
    assert.equal(limiter.take("a").remaining, 1);
    clock.advance(400);
    assert.equal(limiter.take("a").remaining, 0);
    assert.equal(limiter.take("a").retryAfterMs, 600);
  });

  it("is let through again when the window has passed", async () => {
    const limiter = new RateLimiter({ limit: 1, windowMs: 280 });
    assert.ok(limiter.take("a").allowed);
    await systemClock.sleep(300);
    assert.ok(limiter.take("a").allowed);
  });

  it("is not punished for calls that were refused", async () => {
    const limiter = new RateLimiter({ limit: 1, windowMs: 220 });
    limiter.take("a");
    for (let i = 0; i < 20; i++) limiter.take("a");
    await systemClock.sleep(240);
    assert.ok(limiter.take("a").allowed);
  });

  it("does not use up what belongs to another", () => {
    const limiter = new RateLimiter({ limit: 1, windowMs: 1_000, clock: new ManualClock() });
    assert.ok(limiter.take("a").allowed);
    assert.ok(limiter.take("b").allowed);
    assert.ok(!limiter.take("a").allowed);
  });
});

describe("the window", () => {
  it("slides: never more than the limit in any span of its length", () => {
    const clock = new ManualClock();
    const limiter = new RateLimiter({ limit: 5, windowMs: 100, clock });
    const taken = [];
    for (let i = 0; i < 1_000; i++) {
      if (limiter.take("a").allowed) taken.push(clock.now());
      clock.advance((i * 13) % 29);
    }
    for (let i = 5; i < taken.length; i++) assert.ok(taken[i] - taken[i - 5] >= 100);
    assert.ok(taken.length > 500);
  });

  it("makes those who wait come one after the other", async () => {
    const limiter = new RateLimiter({ limit: 2, windowMs: 250 });
    const began = performance.now();
    for (let i = 0; i < 5; i++) await limiter.acquire("a");
    assert.ok(performance.now() - began >= 490);
  });

  it("lets go of a caller that stops waiting", async () => {
    const limiter = new RateLimiter({ limit: 1, windowMs: 60_000 });
    await limiter.acquire("a");
    await assert.rejects(limiter.acquire("a", AbortSignal.timeout(200)), { name: "TimeoutError" });
  });
});
