import assert from "node:assert/strict";
import { test } from "node:test";
import { OneATurn } from "../../src/worker/one-a-turn.ts";

test("those who wait go on in their order, each in a turn of the event loop of its own", async () => {
  const turns = new OneATurn();
  let turn = 0;
  const count = (): void => {
    turn += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const did: { readonly name: string; readonly turn: number }[] = [];
  await Promise.all(
    ["first", "second", "third"].map(async (name) => {
      await turns.wait();
      did.push({ name, turn });
    }),
  );
  clearImmediate(counting);
  assert.deepEqual(
    did.map(({ name }) => name),
    ["first", "second", "third"],
  );
  assert.ok((did[0]?.turn ?? 0) > 0, "what was due already comes first");
  assert.equal(new Set(did.map((one) => one.turn)).size, 3);
});

test("who comes when nobody waits any more is let on as well", async () => {
  const turns = new OneATurn();
  for (let nth = 0; nth < 3; nth += 1) await turns.wait();
});
