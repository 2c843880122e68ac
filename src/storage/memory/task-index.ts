/** Sorted rows for ListTasks, as the sorted sets of a shared store would keep them. */
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ListCursor, ListFilter } from "../../core/storage.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";

/** What is indexed: the task by what it can be listed by. */
export interface IndexRow extends ListCursor {
  readonly scope: Scope;
  readonly contextId: string;
  readonly state: TaskState;
}

/** Rows oldest first, so that what is new goes to the end. */
type Rows = IndexRow[];

/** Every list of a scope: all tasks, by context, by state, by both. */
export class TaskIndex {
  readonly #lists = new Map<string, Rows>();

  /** Puts a row into every list it belongs to. */
  add(row: IndexRow): void {
    for (const key of listKeys(row)) {
      const rows = this.#lists.get(key);
      if (rows === undefined) this.#lists.set(key, [row]);
      else rows.splice(firstNotBelow(rows, row), 0, row);
    }
  }

  /** Takes a row out of every list. */
  remove(row: IndexRow): void {
    for (const key of listKeys(row)) {
      const rows = this.#lists.get(key);
      if (rows === undefined) continue;
      const at = firstNotBelow(rows, row);
      if (rows[at]?.id === row.id) rows.splice(at, 1);
      if (rows.length === 0) this.#lists.delete(key);
    }
  }

  /** A page, newest first, and how many rows the filter lets through. */
  page(scope: Scope, filter: ListFilter, after: ListCursor | undefined, limit: number): { ids: string[]; total: number; more: boolean } {
    const rows = this.#lists.get(listKey(scope, filter.contextId, filter.state)) ?? [];
    const oldest = filter.since === undefined ? 0 : firstNotBelow(rows, { statusTime: filter.since, id: "" });
    const end = after === undefined ? rows.length : firstNotBelow(rows, after);
    const begin = Math.max(oldest, end - limit);
    const page = begin < end ? rows.slice(begin, end).toReversed() : [];
    return { ids: page.map(({ id }) => id), total: rows.length - oldest, more: begin > oldest && page.length > 0 };
  }
}

function listKeys({ scope, contextId, state }: IndexRow): string[] {
  return [listKey(scope), listKey(scope, contextId), listKey(scope, undefined, state), listKey(scope, contextId, state)];
}

function listKey(scope: Scope, contextId?: string, state?: TaskState): string {
  return `${scopeKey(scope)}|${state ?? TaskState.UNSPECIFIED}|${contextId === undefined ? "" : `c${contextId}`}`;
}

function isBelow(a: ListCursor, b: ListCursor): boolean {
  return a.statusTime === b.statusTime ? a.id < b.id : a.statusTime < b.statusTime;
}

/** Index of the first row that is not below `place`. New rows are the newest, so look at the end first. */
function firstNotBelow(rows: Rows, place: ListCursor): number {
  const last = rows.at(-1);
  if (last === undefined || isBelow(last, place)) return rows.length;
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(rows[middle] as IndexRow, place)) low = middle + 1;
    else high = middle;
  }
  return low;
}
