/** Memory of streams on which nothing happens. */
import type { Driver } from "../drivers/driver.ts";
import type { StreamCall } from "../drivers/stream-call.ts";
import { repeat } from "./repeat.ts";
import type { Row, RowContext, Sample } from "./row.ts";
import { beginTask, shortSend, subscribeMany } from "./task-stream.ts";

const STREAMS = 2_000;
const STREAMS_PER_CONNECTION = 100;
const HELD = "events=0 hold=120000";

export const idle: Row = {
  name: "idle",
  // Memory that a server has once had it seldom gives back, so a second measurement would find less.
  fresh: true,
  metrics: [
    { key: "rss", title: "2,000 held tasks, a stream each (RSS)", unit: "kB/stream", aim: () => ({ kind: "ratio-at-most", value: 0.55 }) },
    { key: "heap", title: "2,000 held tasks, a stream each (heap)", unit: "kB/stream" },
  ],
  async run(context) {
    const { driver, streams } = await prepare(context);
    const tasks: { readonly id: string; readonly call: StreamCall }[] = [];
    const memory = await growth(context, streams, async () => {
      await repeat({ workers: 50, ms: 60_000, max: streams }, async () => {
        tasks.push(await beginTask(driver, HELD));
      });
      return tasks.map(({ call }) => call);
    });
    const queue = tasks.values();
    await repeat({ workers: 50, ms: 60_000, max: tasks.length }, async () => {
      const task = queue.next().value;
      if (task === undefined) return;
      await driver.cancel(task.id);
      await task.call.ended;
    });
    return memory;
  },
};

export const idleSubscribers: Row = {
  name: "idle-subscribers",
  bindings: ["grpc", "connect", "grpcweb"],
  fresh: true,
  metrics: [
    { key: "rss", title: "2,000 more streams on one held task (RSS)", unit: "kB/stream" },
    { key: "heap", title: "2,000 more streams on one held task (heap)", unit: "kB/stream" },
  ],
  async run(context) {
    const { driver, streams } = await prepare(context);
    const task = await beginTask(driver, HELD);
    let calls: StreamCall[] = [];
    const memory = await growth(context, streams, async () => {
      calls = await subscribeMany(driver, task.id, streams);
      return calls;
    });
    await driver.cancel(task.id);
    await Promise.all([task.call, ...calls].map((call) => call.ended));
    return memory;
  },
};

/**
 * Lets the server do a little of everything, so that code that is loaded is not counted as streams, nor the room for short-lived objects, which V8
 * makes once under load and keeps.
 */
async function prepare({ open, quick }: RowContext): Promise<{ readonly driver: Driver; readonly streams: number }> {
  const streams = quick ? 200 : STREAMS;
  const driver = open(Math.ceil(streams / STREAMS_PER_CONNECTION));
  await repeat({ workers: 32, ms: 10_000, max: quick ? 40 : 2_000 }, () => shortSend(driver));
  const task = await beginTask(driver, HELD);
  await subscribeMany(driver, task.id, 50);
  await driver.cancel(task.id);
  await task.call.ended;
  return { driver, streams };
}

async function growth({ stats }: RowContext, streams: number, open: () => Promise<readonly StreamCall[]>): Promise<Record<string, Sample>> {
  const before = await stats(true);
  const calls = await open();
  const after = await stats(true);
  // A stream that has ended would make the others look cheap.
  const ended = Promise.race(calls.map((call) => call.ended.then(() => true)));
  if (await Promise.race([ended, Promise.resolve(false)])) throw new Error("a held stream has ended");
  const perStream = (key: "rss" | "heapUsed"): Sample[] => {
    const value = ((after[key] ?? Number.NaN) - (before[key] ?? Number.NaN)) / streams / 1_000;
    return Number.isNaN(value) ? [] : [{ value }];
  };
  const [rss, heap] = [perStream("rss")[0], perStream("heapUsed")[0]];
  return { ...(rss && { rss }), ...(heap && { heap }) };
}
