import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock, systemClock } from "../src/clock.js";
import { IdempotencyStore } from "../src/idempotency.js";

const counting = (answers = []) => {
  let calls = 0;
  const work = async () => {
    await systemClock.sleep(90);
    return answers[calls++] ?? calls;
  };
  return { work, calls: () => calls };
};

describe("a repeated request", () => {
  it("is done once and answered alike", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    const { work, calls } = counting(["first", "second"]);
    assert.deepEqual(await store.run("k", "f", work), { value: "first", replayed: false });
    assert.deepEqual(await store.run("k", "f", work), { value: "first", replayed: true });
    assert.equal(calls(), 1);
  });

  it("waits for the one that still runs", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    let calls = 0;
    const slow = async () => {
      calls += 1;
      await systemClock.sleep(250);
      return calls;
    };
    const answers = await Promise.all(["a", "b", "c"].map(() => store.run("k", "f", slow)));
    assert.deepEqual(
      answers.map(({ value, replayed }) => [value, replayed]),
      [
        [1, false],
        [1, true],
        [1, true],
      ],
    );
  });

  it("with other content is refused", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    await store.run("k", "f1", async () => 1);
    await assert.rejects(
      store.run("k", "f2", async () => 2),
      { code: "key_reused", status: 409 },
    );
  });

  it("with other content is refused while the first still runs", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    const first = store.run("k", "f1", () => systemClock.sleep(200));
    await assert.rejects(
      store.run("k", "f2", async () => 2),
      { code: "key_reused" },
    );
    await first;
  });

  it("under another key is another request", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    const { work } = counting();
    assert.equal((await store.run("k1", "f", work)).value, 1);
    assert.equal((await store.run("k2", "f", work)).value, 2);
  });
});

describe("a key", () => {
  it("is forgotten after its time", async () => {
    const store = new IdempotencyStore({ ttlMs: 200 });
    const { work } = counting(["first", "second"]);
    await store.run("k", "f", work);
    await systemClock.sleep(240);
    assert.equal(store.size, 0);
    assert.deepEqual(await store.run("k", "f", work), { value: "second", replayed: false });
  });

  it("is remembered up to its time", async () => {
    const clock = new ManualClock();
    const store = new IdempotencyStore({ ttlMs: 1_000, clock });
    await store.run("k", "f", async () => 1);
    clock.advance(999);
    assert.equal(store.size, 1);
    clock.advance(1);
    assert.equal(store.size, 0);
  });

  it("counts its time from the answer, not from the request", async () => {
    const store = new IdempotencyStore({ ttlMs: 150 });
    await store.run("k", "f", () => systemClock.sleep(230));
    assert.equal(store.size, 1);
    await systemClock.sleep(190);
    assert.equal(store.size, 0);
  });

  it("is free again when the work failed", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    const fail = async () => {
      await systemClock.sleep(150);
      throw new Error("declined");
    };
    const both = await Promise.allSettled([store.run("k", "f", fail), store.run("k", "f", fail)]);
    assert.deepEqual(
      both.map(({ reason }) => reason.message),
      ["declined", "declined"],
    );
    assert.equal((await store.run("k", "f", async () => "taken")).value, "taken");
  });

  it("has letters, digits and little else", async () => {
    const store = new IdempotencyStore({ ttlMs: 1_000, clock: new ManualClock() });
    for (const key of ["", "a b", "ä", "k".repeat(65)])
      await assert.rejects(
        store.run(key, "f", async () => 1),
        { code: "invalid_key" },
      );
  });
});
