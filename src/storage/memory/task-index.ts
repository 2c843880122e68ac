/** Sorted rows for ListTasks. */
import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ListCursor, ListFilter } from "../../core/storage.ts";

/** What is indexed: the task by what it can be listed by. */
export interface IndexRow extends ListCursor {
  readonly contextId: string;
  readonly state: TaskState;
}

/**
 * One list per scope (by scopeKey), oldest first, so that what changes goes to the end. Filters are applied when a page is read: a status changes far
 * more often than somebody asks, and one process holds few enough rows to look at each.
 */
export class TaskIndex {
  readonly #lists = new Map<string, IndexRow[]>();

  /** Adds a row. */
  add(scope: string, row: IndexRow): void {
    const rows = this.#lists.get(scope);
    if (rows === undefined) this.#lists.set(scope, [row]);
    else rows.splice(firstNotBelow(rows, row), 0, row);
  }

  /** Takes a row out; nothing happens where it is not there. */
  remove(scope: string, { id, statusTime }: ListCursor): void {
    const rows = this.#lists.get(scope);
    if (rows === undefined) return;
    const at = firstNotBelow(rows, { id, statusTime });
    if (rows[at]?.id !== id) return;
    if (rows.length === 1) this.#lists.delete(scope);
    else rows.splice(at, 1);
  }

  /** A page, newest first, and how many rows the filter lets through. */
  page(scope: string, filter: ListFilter, after: ListCursor | undefined, limit: number): { ids: string[]; total: number; more: boolean } {
    const rows = this.#lists.get(scope) ?? [];
    const oldest = filter.since === undefined ? 0 : firstNotBelow(rows, { statusTime: filter.since, id: "" });
    const { contextId, state } = filter;
    const ids: string[] = [];
    let total = 0;
    let more = false;
    for (let at = rows.length - 1; at >= oldest; at -= 1) {
      const row = rows[at] as IndexRow;
      if (contextId !== undefined && row.contextId !== contextId) continue;
      if (state !== undefined && row.state !== state) continue;
      total += 1;
      if (after !== undefined && !isBelow(row, after)) continue;
      if (ids.length < limit) ids.push(row.id);
      else more = true;
    }
    return { ids, total, more };
  }
}

function isBelow(a: ListCursor, b: ListCursor): boolean {
  return a.statusTime === b.statusTime ? a.id < b.id : a.statusTime < b.statusTime;
}

/** Index of the first row that is not below `place`. What changes is mostly new, so look at the end first. */
function firstNotBelow(rows: readonly IndexRow[], place: ListCursor): number {
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
