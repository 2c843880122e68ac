/** ListTasks (R-043 to R-056, C-13 to C-20). */
import { fromBinary } from "@bufbuild/protobuf";
import { type ListTasksRequest, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { invalidArgument, TaskError } from "../core/errors.ts";
import { pageToken, parsePageToken } from "../core/page-token.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Head, ListCursor, ListFilter, ListRow } from "../core/storage.ts";
import type { ServiceInit } from "./service-init.ts";
import { PAGE_SIZE } from "../rpc/field-bounds.ts";
import { wireBytes } from "../rpc/wire-cache.ts";
import { withHistory } from "./frames.ts";
import { validateList } from "./validate.ts";

/** Encoded bytes of tasks after which a page ends; one task may be larger. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** One page, newest status first. `totalSize` counts all tasks that the filter and the scope let through. */
export async function listTasks(
  init: ServiceInit,
  scope: Scope,
  request: ListTasksRequest,
): Promise<{ tasks: Task[]; nextPageToken: string; pageSize: number; totalSize: number }> {
  validateList(request, init.options);
  const filter = filterOf(request);
  const list = `${scopeKey(scope)}|${filter.contextId ?? ""}|${filter.state ?? 0}|${filter.since ?? ""}`;
  const after = request.pageToken === "" ? undefined : cursorOf(parsePageToken(request.pageToken, list));
  if (request.pageToken !== "" && after === undefined) {
    throw invalidArgument({
      field: "pageToken",
      description: "is not a token of this list: use nextPageToken as it came, with the same filters",
    });
  }
  const pageSize = request.pageSize ?? PAGE_SIZE.default;
  const page = await init.storage.list(scope, filter, after, pageSize);
  const tasks: Task[] = [];
  let last: ListRow | undefined;
  let bytes = 0;
  for (const row of page.rows) {
    const { task, size } = await shownTask(init, row, request);
    bytes += size;
    // fewer than asked for, rather than a reply that stops the replica while it is made.
    if (bytes > MAX_PAGE_BYTES && tasks.length > 0) break;
    if (task !== undefined) tasks.push(task);
    last = row;
  }
  const more = page.more || last !== page.rows.at(-1);
  const nextPageToken = more && last !== undefined ? pageToken(`${last.head.statusTime}|${last.id}`, list) : "";
  return { tasks, nextPageToken, pageSize, totalSize: page.total };
}

function cursorOf(place: string | undefined): ListCursor | undefined {
  const match = /^(\d{1,16})\|([0-9a-f-]{36})$/.exec(place ?? "");
  return match === null ? undefined : { statusTime: Number(match[1]), id: match[2] ?? "" };
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): ListFilter {
  // Timestamps of tasks are whole milliseconds: at or after means at or after the next one.
  const since = statusTimestampAfter && Number(statusTimestampAfter.seconds) * 1000 + Math.ceil(statusTimestampAfter.nanos / 1e6);
  return { contextId: contextId || undefined, state: status === TaskState.UNSPECIFIED ? undefined : status, since };
}

/** The task as its head shows it; undefined where the head is damaged: the log is the truth. */
function briefOf({ task }: Head): Task | undefined {
  try {
    return fromBinary(TaskSchema, task);
  } catch {
    return undefined;
  }
}

/**
 * A row as the caller asked to see it: from its head, or from the log where the head does not hold enough; and its bytes, roughly. A task whose log is
 * damaged as well has none: it is no reason to show its owner nothing at all.
 */
async function shownTask(
  { snapshots, log }: ServiceInit,
  { id, head }: ListRow,
  request: ListTasksRequest,
): Promise<{ readonly task: Task | undefined; readonly size: number }> {
  const { historyLength, includeArtifacts } = request;
  if (includeArtifacts !== true) {
    const brief = briefOf(head);
    const wanted = Math.min(head.historyLength, historyLength ?? Infinity);
    if (brief !== undefined && brief.history.length >= wanted) return { task: withHistory(brief, historyLength), size: head.task.length };
  }
  const current = await snapshots.current(id).catch((error: unknown) => {
    if (error instanceof TaskError) throw error;
    log.error({ taskId: id, error }, "a task cannot be read, and is left out of a list");
    return undefined;
  });
  if (current === undefined) return { task: undefined, size: 0 };
  const whole = withHistory(current.snapshot.task, historyLength);
  const task = includeArtifacts === true ? whole : { ...whole, artifacts: [] };
  return { task, size: wireBytes(TaskSchema, task).length };
}
