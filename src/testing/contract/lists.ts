/** ListTasks: every combination of filters, pages that hold while tasks change, and walls between scopes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Scope } from "../../core/scope.ts";
import type { ListCursor, ListFilter, ListRow } from "../../core/storage.ts";
import { EPOCH_MS, Lab, type LabTask, type OpenStore, SCOPE, status } from "./lab.ts";

const ALL: ListFilter = { contextId: undefined, state: undefined, since: undefined };
const STATES = [TaskState.SUBMITTED, TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.COMPLETED] as const;

/** What the list should hold of one task. */
interface Row extends ListCursor {
  readonly contextId: string;
  readonly state: TaskState;
}

/** Lists. */
export function listContract(open: OpenStore): void {
  test("R-045 R-050 every combination of filters lists exactly what it lets through, newest status first, in pages of any size", async () => {
    await using lab = await Lab.open(open);
    const rows: Row[] = [];
    for (let count = 0; count < 36; count += 1) {
      // Some share their time: the order is the id's then.
      const statusTime = EPOCH_MS + 10 * (count % 5);
      const [contextId, state] = [`c${count % 3}`, STATES[count % 4] ?? TaskState.SUBMITTED];
      const task = await lab.owned({ contextId, statusTime, state });
      rows.push({ id: task.id, contextId, state, statusTime });
    }
    const contexts = [undefined, "c0", "c2", "none"];
    const states = [undefined, ...STATES, TaskState.FAILED];
    const times = [undefined, 0, EPOCH_MS + 10, EPOCH_MS + 11, EPOCH_MS + 40, EPOCH_MS + 41];
    for (const contextId of contexts) {
      for (const state of states) {
        for (const since of times) {
          const filter = { contextId, state, since };
          const expected = rows.filter((row) => lets(filter, row)).toSorted(newestFirst);
          for (const limit of [1, 7, 100]) {
            const listed = await pages(lab, filter, limit, expected.length);
            assert.deepEqual(
              listed.map(({ id, head }) => ({ id, state: head.state, statusTime: head.statusTime })),
              expected.map(({ id, state: shown, statusTime }) => ({ id, state: shown, statusTime })),
            );
          }
        }
      }
    }
  });

  test("a page says that there is more exactly where there is", async () => {
    await using lab = await Lab.open(open);
    for (let count = 0; count < 4; count += 1) await lab.owned();
    assert.equal((await lab.storage.list(SCOPE, ALL, undefined, 3)).more, true);
    assert.equal((await lab.storage.list(SCOPE, ALL, undefined, 4)).more, false);
    assert.equal((await lab.storage.list(SCOPE, ALL, undefined, 5)).more, false);
    assert.deepEqual(await lab.storage.list({ ...SCOPE, owner: "nobody" }, ALL, undefined, 5), { rows: [], total: 0, more: false });
  });

  test("R-044 C-13 while tasks change between pages, an unchanged one appears exactly once and a changed one never twice", async () => {
    await using lab = await Lab.open(open);
    const tasks: LabTask[] = [];
    for (let count = 0; count < 20; count += 1) tasks.push(await lab.owned({ statusTime: EPOCH_MS + count }));
    const changed = new Set<string>();
    const seen: string[] = [];
    let after: ListCursor | undefined;
    for (let page = 0; ; page += 1) {
      const listed = await lab.storage.list(SCOPE, ALL, after, 3);
      seen.push(...listed.rows.map(({ id }) => id));
      assert.equal(listed.total, 20 + page);
      if (!listed.more) break;
      after = cursorOf(listed.rows);
      // One that was shown already, one that was not, and a new one.
      for (const task of [tasks[19 - page], tasks[page]]) {
        if (task === undefined || changed.has(task.id)) continue;
        changed.add(task.id);
        await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING, statusTime: EPOCH_MS + 1000 + page });
      }
      await lab.owned({ statusTime: EPOCH_MS + 2000 + page });
    }
    assert.equal(new Set(seen).size, seen.length, "none twice");
    for (const { id } of tasks) if (!changed.has(id)) assert.ok(seen.includes(id), "an unchanged one is there");
  });

  test("a status that changes within the same millisecond keeps its place", async () => {
    await using lab = await Lab.open(open);
    const tasks: LabTask[] = [];
    for (let count = 0; count < 6; count += 1) tasks.push(await lab.owned());
    const seen: string[] = [];
    let after: ListCursor | undefined;
    for (;;) {
      const page = await lab.storage.list(SCOPE, ALL, after, 2);
      seen.push(...page.rows.map(({ id }) => id));
      if (!page.more) break;
      after = cursorOf(page.rows);
      for (const task of tasks) await task.append([status(TaskState.WORKING)], { state: TaskState.WORKING });
    }
    assert.deepEqual(seen.toSorted(), tasks.map(({ id }) => id).toSorted());
  });

  test("the head that a list shows is the last one written", async () => {
    await using lab = await Lab.open(open);
    const task = await lab.owned();
    const batch = task.batch([status(TaskState.WORKING)], { state: TaskState.WORKING, statusTime: EPOCH_MS + 5 });
    await lab.storage.append(task.lease, batch);
    const [row] = (await lab.storage.list(SCOPE, ALL, undefined, 10)).rows;
    assert.deepEqual({ ...row?.head, task: [...(row?.head.task ?? [])] }, { ...batch.head, task: [...(batch.head?.task ?? [])] });
  });

  test("R-043 R-366 scopes see only their own tasks, however alike their names are", async () => {
    await using lab = await Lab.open(open);
    const scopes: Scope[] = [
      { tenant: "a", owner: "bc" },
      { tenant: "ab", owner: "c" },
      { tenant: "", owner: "abc" },
      { tenant: "abc", owner: "" },
      { tenant: "a", owner: "b" },
      { tenant: "1:a", owner: "bc" },
      { tenant: "a", owner: "b|c" },
      { tenant: "a|b", owner: "c" },
      { tenant: "a", owner: "b:c" },
      { tenant: "ä", owner: "{x}" },
      { tenant: "x}", owner: "{ä" },
      { tenant: "a\u0000", owner: "b" },
    ];
    const ids = new Map<Scope, string>();
    for (const scope of scopes) ids.set(scope, (await lab.owned({ scope, contextId: "shared" })).id);
    for (const scope of scopes) {
      for (const contextId of [undefined, "shared"]) {
        for (const state of [undefined, TaskState.SUBMITTED]) {
          const { rows, total } = await lab.storage.list(scope, { contextId, state, since: undefined }, undefined, 100);
          assert.deepEqual(
            rows.map(({ id }) => id),
            [ids.get(scope)],
          );
          assert.equal(total, 1);
        }
      }
    }
  });

  test("contexts are told apart from states and from each other, however they are spelled", async () => {
    await using lab = await Lab.open(open);
    const contexts = ["a", "a|1", "1", "|", "c1", "1|c", "a:b", "{a}"];
    for (const contextId of contexts) await lab.owned({ contextId });
    for (const contextId of contexts) {
      const { rows, total } = await lab.storage.list(SCOPE, { ...ALL, contextId }, undefined, 100);
      assert.equal(rows.length, 1);
      assert.equal(total, 1);
    }
  });
}

function lets({ contextId, state, since }: ListFilter, row: Row): boolean {
  if (contextId !== undefined && row.contextId !== contextId) return false;
  if (state !== undefined && row.state !== state) return false;
  return since === undefined || row.statusTime >= since;
}

function newestFirst(a: ListCursor, b: ListCursor): number {
  if (a.statusTime !== b.statusTime) return b.statusTime - a.statusTime;
  return a.id < b.id ? 1 : -1;
}

function cursorOf(rows: readonly ListRow[]): ListCursor | undefined {
  const last = rows.at(-1);
  return last && { id: last.id, statusTime: last.head.statusTime };
}

async function pages(lab: Lab, filter: ListFilter, limit: number, total: number): Promise<ListRow[]> {
  const listed: ListRow[] = [];
  let after: ListCursor | undefined;
  for (;;) {
    const page = await lab.storage.list(SCOPE, filter, after, limit);
    assert.equal(page.total, total);
    listed.push(...page.rows);
    assert.equal(page.more, listed.length < total);
    if (!page.more) return listed;
    after = cursorOf(page.rows);
  }
}
