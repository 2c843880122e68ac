/** So many at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "../../src/core/turns.ts";

const AT_ONCE = 4;

test("so many have their turn at once, the others get theirs in the order in which they came", async () => {
  const turns = new Turns(AT_ONCE);
  const begun: number[] = [];
  let now = 0;
  let most = 0;
  const step = async (index: number): Promise<void> => {
    using _turn = await turns.turn();
    begun.push(index);
    now += 1;
    most = Math.max(most, now);
    // Some take longer than those that came after them.
    for (let wait = 0; wait < 5 + ((index * 7) % 5); wait += 1) await Promise.resolve();
    now -= 1;
  };
  const order = Array.from({ length: 50 }, (_, index) => index);
  await Promise.all(order.map(step));
  assert.deepEqual(begun, order);
  assert.equal(most, AT_ONCE);
});

test("a turn that fails is over, and the next one has it", async () => {
  const turns = new Turns(1);
  const step = async (index: number): Promise<number> => {
    using _turn = await turns.turn();
    await Promise.resolve();
    if (index % 2 === 0) throw new RangeError(`${index}`);
    return index;
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => step(index)));
  assert.deepEqual(
    outcomes.map(({ status }) => status === "fulfilled"),
    outcomes.map((_, index) => index % 2 === 1),
  );
  using last = await turns.turn();
  assert.ok(last);
});

test("whoever stops waiting leaves the line, and holds nobody up", async () => {
  const turns = new Turns(1);
  const over = new AbortController();
  const reason = new Error("over");
  const first = await turns.turn();
  const left = turns.turn(over.signal);
  const next = turns.turn();
  over.abort(reason);
  await assert.rejects(left, reason);
  await assert.rejects(turns.turn(over.signal), reason);
  first[Symbol.dispose]();
  using got = await next;
  assert.ok(got);
});
