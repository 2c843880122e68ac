/** ListTasks where there are many tasks. */
import { create } from "@bufbuild/protobuf";
import { ListTasksRequestSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { repeat } from "../rows/repeat.ts";
import { newTask, Replica } from "./replica.ts";
import type { StoreRow } from "./store-row.ts";
import { median } from "../quantile.ts";

const STATES = [TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED, TaskState.COMPLETED];
const WALK = 100;

export const lists: StoreRow = {
  name: "lists",
  metrics: [
    { key: "first", title: "ListTasks, 50 of 100,000 tasks in 16 shards, first page", unit: "ms", aim: { kind: "at-most", value: 20 } },
    { key: "deep", title: "the same, a page from the middle", unit: "ms", aim: { kind: "at-most", value: 20 } },
    { key: "filtered", title: "the same, of one state", unit: "ms", aim: { kind: "at-most", value: 20 } },
  ],
  async run({ redis, quick }) {
    const [tasks, samples] = quick ? [2_000, 10] : [100_000, 100];
    await using replica = await Replica.open(redis.url);
    const { storage } = replica;
    const base = Date.now() - tasks;
    let made = 0;
    await repeat({ workers: 128, ms: 120_000, max: tasks }, async () => {
      const at = made++;
      // Ten tasks share each millisecond: their order is that of their ids.
      await storage.create(newTask(storage, STATES[at % STATES.length], base + Math.floor(at / 10)));
    });
    if (made !== tasks) throw new Error(`only ${made} of ${tasks} tasks were made in time`);

    const page = async (
      pageToken: string,
      pageSize: number,
      status?: TaskState,
    ): Promise<{ ids: string[]; next: string; total: number }> => {
      const request = create(ListTasksRequestSchema, { pageToken, pageSize, ...(status !== undefined && { status }) });
      const {
        tasks: listed = [],
        nextPageToken = "",
        totalSize = 0,
      } = await replica.service.listTasks(request, replica.context("listTasks"));
      return { ids: listed.map(({ id }) => id ?? ""), next: nextPageToken, total: totalSize };
    };
    // The way to the middle: no task twice, every total exact.
    const seen = new Set<string>();
    let middle = "";
    while (seen.size < tasks / 2) {
      const { ids, next, total } = await page(middle, WALK);
      if (total !== tasks) throw new Error(`a page says ${total} instead of ${tasks} tasks`);
      const known = seen.size;
      for (const id of ids) seen.add(id);
      if (seen.size !== known + WALK) throw new Error("a page shows a task again");
      middle = next;
    }
    const times: Record<"first" | "deep" | "filtered", number[]> = { first: [], deep: [], filtered: [] };
    const timed = async (key: keyof typeof times, expected: number, ...list: [string, number, TaskState?]): Promise<void> => {
      const began = performance.now();
      const { ids, total } = await page(...list);
      times[key].push(performance.now() - began);
      if (ids.length !== 50 || total !== expected) throw new Error(`a page has ${ids.length} tasks of ${total}`);
    };
    for (let index = 0; index < samples; index++) {
      await timed("first", tasks, "", 50);
      await timed("deep", tasks, middle, 50);
      await timed("filtered", tasks / 4, "", 50, TaskState.INPUT_REQUIRED);
    }
    return { first: { ours: median(times.first) }, deep: { ours: median(times.deep) }, filtered: { ours: median(times.filtered) } };
  },
};
