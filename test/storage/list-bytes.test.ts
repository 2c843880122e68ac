/** Lists of tasks whose heads are large. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListCursor } from "../../src/core/storage.ts";
import { EPOCH_MS, type Lab, SCOPE } from "../../src/testing/contract/lab.ts";
import { redisServer } from "../redis/redis-server.ts";
import { openLab } from "./store-bed.ts";

const MIB = 1024 * 1024;
const ALL = { contextId: undefined, state: undefined, since: undefined };

/** Tasks with heads of so many bytes, oldest first. */
async function beginWith({ storage, creation }: Pick<Lab, "storage" | "creation">, heads: readonly number[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, bytes] of heads.entries()) {
    const made = creation({ statusTime: EPOCH_MS + index });
    await storage.create({ ...made, head: { ...made.head, task: Buffer.alloc(bytes, 1) } });
    ids.push(made.id);
  }
  return ids;
}

/** How many rows each page of a list had; all rows. */
async function pages({ storage }: Lab, limit: number): Promise<{ readonly sizes: number[]; readonly ids: string[] }> {
  const sizes: number[] = [];
  const ids: string[] = [];
  let after: ListCursor | undefined;
  for (;;) {
    const { rows, more, total } = await storage.list(SCOPE, ALL, after, limit);
    sizes.push(rows.length);
    ids.push(...rows.map(({ id }) => id));
    const last = rows.at(-1);
    if (!more || last === undefined) {
      assert.equal(ids.length, total);
      return { sizes, ids };
    }
    after = { statusTime: last.head.statusTime, id: last.id };
  }
}

test("a page ends before its heads are larger than 4 MiB together, says that there is more, and the next one goes on there", async () => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const bed = { storage: lab.storage, creation: lab.creation.bind(lab) };
  // From the newest on: three and a half, one that does not fit with them, one that fits nowhere, small ones.
  const newest = [MIB, MIB, 1.5 * MIB, MIB, 6 * MIB, 10, 10, 10];
  const ids = await beginWith(bed, newest.toReversed());
  assert.deepEqual(await pages(lab, 100), { sizes: [3, 1, 1, 3], ids: ids.toReversed() });
  assert.deepEqual(await pages(lab, 2), { sizes: [2, 2, 1, 2, 1], ids: ids.toReversed() });
});

test("lists of large heads keep nothing else waiting: others are answered between their pages, on the connection that they share", async (t) => {
  await using server = await redisServer();
  await using lab = await openLab(server.url);
  const bed = { storage: lab.storage, creation: lab.creation.bind(lab) };
  await beginWith(
    bed,
    Array.from({ length: 40 }, () => MIB),
  );
  const small = await lab.owned();
  const over = new AbortController();
  const listing = Promise.all(Array.from({ length: 4 }, () => pages(lab, 100))).finally(() => over.abort());
  let slowest = 0;
  let asked = 0;
  while (!over.signal.aborted) {
    const began = performance.now();
    await small.meta();
    slowest = Math.max(slowest, performance.now() - began);
    asked += 1;
  }
  for (const { sizes } of await listing) assert.ok(sizes.every((size) => size <= 4));
  t.diagnostic(`${asked} reads of another task meanwhile, the slowest took ${Math.round(slowest)} ms`);
  assert.ok(asked > 10 && slowest < 800);
});
