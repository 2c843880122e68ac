import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { everywhere, failureOf, type ScenarioBed, send, sharedBed, stateOf, taskOf } from "../bed.ts";
import type { Caller } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";

async function list(caller: Caller, request: JsonObject): Promise<JsonObject & { tasks: JsonObject[] }> {
  const { message } = await caller.unary("ListTasks", request);
  return { ...message, tasks: (message["tasks"] ?? []) as JsonObject[] };
}

function ids({ tasks }: { readonly tasks: readonly JsonObject[] }): string[] {
  return tasks.map(({ id }) => id as string);
}

function timeOf(task: JsonObject): string {
  return (task["status"] as JsonObject)["timestamp"] as string;
}

/** The same to be compared: a whole second has no fraction in ProtoJSON. */
function msOf(task: JsonObject): number {
  return Date.parse(timeOf(task));
}

suite("ListTasks", () => {
  const bed = sharedBed();
  const contexts = [randomUUID(), randomUUID()];
  /** All tasks of a bed, the latest status last. */
  const tasks = new Map<ScenarioBed, readonly JsonObject[]>();
  const tasksOf = (on: ScenarioBed): readonly JsonObject[] => tasks.get(on) ?? [];
  before(async () => {
    for (const deployment of bed.deployments) {
      const all: JsonObject[] = [];
      const on = bed.on(deployment);
      for (const text of ["complete", "input", "reject", "input", "complete", "talk"]) {
        for (const contextId of contexts)
          all.push(taskOf(await on.callers[0].unary("SendMessage", send(text, { message: { contextId } }))));
      }
      tasks.set(on, all);
    }
  });

  const [first = "", second = ""] = contexts;
  type All = readonly JsonObject[];
  const filters: [name: string, request: (all: All) => JsonObject, keep: (task: JsonObject, all: All) => boolean][] = [];
  for (const contextId of [undefined, first, second, randomUUID()]) {
    for (const status of [undefined, "TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING"]) {
      for (const since of [undefined, 0, 5, 11]) {
        filters.push([
          `${contextId === undefined ? "any" : "one"} context, ${status ?? "any status"}, since ${since === undefined ? "ever" : `the task ${since}`}`,
          (all) => ({
            ...(contextId !== undefined && { contextId }),
            ...(status !== undefined && { status }),
            ...(since !== undefined && { statusTimestampAfter: timeOf(all[since] as JsonObject) }),
          }),
          (task, all) =>
            (contextId === undefined || task["contextId"] === contextId) &&
            (status === undefined || stateOf(task) === status) &&
            (since === undefined || msOf(task) >= msOf(all[since] as JsonObject)),
        ]);
      }
    }
  }

  everywhere(
    "R-045 R-050 R-270 C-13 C-14 C-16 answers exactly the tasks that every filter lets through, newest status first, with an exact total",
    bed,
    async (caller, on) => {
      const all = tasksOf(on);
      for (const [name, request, keep] of filters) {
        const expected = all
          .filter((task) => keep(task, all))
          .toSorted(newestFirst)
          .map(({ id }) => id);
        const page = await list(caller, request(all));
        assert.deepEqual(ids(page), expected, name);
        assert.equal(page["totalSize"] ?? 0, expected.length, name);
        assert.equal(page["pageSize"], 50, name);
        assert.equal(page["nextPageToken"], undefined, name);
      }
      return undefined;
    },
  );

  everywhere("R-044 pages through a list: each task once, the last page without a token", bed, async (caller, on) => {
    const pages: JsonObject[] = [];
    for (const pageSize of [1, 4, 6]) {
      const seen: string[] = [];
      let pageToken = "";
      do {
        const page = await list(caller, { contextId: first, pageSize, ...(pageToken !== "" && { pageToken }) });
        assert.ok(page.tasks.length <= pageSize);
        assert.equal(page["pageSize"], pageSize);
        assert.equal(page["totalSize"], 6);
        seen.push(...ids(page));
        pages.push(page);
        pageToken = (page["nextPageToken"] ?? "") as string;
      } while (pageToken !== "");
      assert.deepEqual(
        seen,
        tasksOf(on)
          .filter(({ contextId }) => contextId === first)
          .toSorted(newestFirst)
          .map(({ id }) => id),
      );
    }
    return pages.map(({ nextPageToken, ...page }) => [typeof nextPageToken, page]);
  });

  everywhere("R-044 C-13 shows a task that moves while a caller pages at most once", bed, async (caller) => {
    const contextId = randomUUID();
    const started: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      started.push(taskOf(await caller.unary("SendMessage", send("input", { message: { contextId } }))).id);
    }
    const one = await list(caller, { contextId, pageSize: 2 });
    // The oldest goes to the front; those that stay put come exactly once.
    await caller.unary("SendMessage", send("complete", { message: { taskId: started[0] as string } }));
    const two = await list(caller, { contextId, pageSize: 2, pageToken: one["nextPageToken"] as string });
    const seen = [...ids(one), ...ids(two)];
    assert.equal(new Set(seen).size, seen.length);
    for (const id of started.slice(1)) assert.ok(seen.includes(id));
    return undefined;
  });

  everywhere("R-048 R-049 C-19 shows artifacts only where they are asked for", bed, async (caller) => {
    const without = await list(caller, { contextId: first });
    assert.ok(without.tasks.every((task) => !("artifacts" in task)));
    const off = await list(caller, { contextId: first, includeArtifacts: false });
    assert.deepEqual(off, without);
    const on = await list(caller, { contextId: first, includeArtifacts: true });
    assert.equal(on.tasks.filter((task) => "artifacts" in task).length, 2);
    for (const task of on.tasks) assert.deepEqual(task, (await caller.unary("GetTask", { id: task["id"] as string })).message);
    return [without, on];
  });

  everywhere("R-051 R-052 C-15 refuses a page size outside of 1 to 100", bed, async (caller) => {
    const failures = [];
    for (const pageSize of [0, -1, 101, 2 ** 31 - 1]) {
      failures.push(checkFailure(caller, await failureOf(caller.unary("ListTasks", { pageSize })), "INVALID_ARGUMENT", ["pageSize"]));
    }
    for (const pageSize of [1, 100]) assert.equal((await list(caller, { pageSize }))["pageSize"], pageSize);
    return failures;
  });

  everywhere("R-044 refuses a token that is not its own, or of another list", bed, async (caller) => {
    const { nextPageToken } = await list(caller, { contextId: first, pageSize: 1 });
    const token = nextPageToken as string;
    const tokens: JsonObject[] = [
      { pageToken: "nonsense" },
      { pageToken: "💥" },
      { pageToken: `${token}x` },
      { pageToken: token },
      { contextId: second, pageToken: token },
      { contextId: first, status: "TASK_STATE_COMPLETED", pageToken: token },
      { contextId: first, statusTimestampAfter: "2020-01-01T00:00:00Z", pageToken: token },
    ];
    const failures = await Promise.all(tokens.map((request) => failureOf(caller.unary("ListTasks", request))));
    return failures.map((failure) => checkFailure(caller, failure, "INVALID_ARGUMENT", ["pageToken"]));
  });

  everywhere("R-052 R-251 C-41 names every bad field at once", bed, async (caller) => {
    const failure = await failureOf(caller.unary("ListTasks", { pageSize: 0, historyLength: -2, status: 99 }));
    return checkFailure(caller, failure, "INVALID_ARGUMENT", ["pageSize", "historyLength", "status"]);
  });

  everywhere("R-050 C-41 takes TASK_STATE_UNSPECIFIED as no filter", bed, async (caller) => {
    const page = await list(caller, { contextId: first, status: "TASK_STATE_UNSPECIFIED" });
    assert.equal(page["totalSize"], 6);
    return undefined;
  });

  everywhere("C-57 takes any number of digits in a time", bed, async (caller, on) => {
    for (const statusTimestampAfter of ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456789Z"]) {
      assert.equal((await list(caller, { contextId: first, statusTimestampAfter }))["totalSize"], 6);
    }
    const last = new Date(msOf(tasksOf(on).findLast(({ contextId }) => contextId === first) as JsonObject));
    assert.equal(
      (await list(caller, { contextId: first, statusTimestampAfter: last.toISOString().replace(/Z$/, "000001Z") }))["totalSize"],
      undefined,
    );
    return undefined;
  });
});

function newestFirst(a: JsonObject, b: JsonObject): number {
  if (msOf(a) !== msOf(b)) return msOf(b) - msOf(a);
  return (a["id"] as string) < (b["id"] as string) ? 1 : -1;
}
