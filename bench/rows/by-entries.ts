/** Whether an event, a read and a subscription cost more where the task is long. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Driver } from "../drivers/driver.ts";
import { median } from "../quantile.ts";
import { repeat } from "./repeat.ts";
import { rate, type Metric, type Row, type RowContext, type Sample } from "./row.ts";
import { completeWith, FRAMES_AROUND } from "./task-stream.ts";
import { timed } from "./timed.ts";

const SIZES = [10, 1_000, 10_000] as const;
const QUICK_SIZES = [10, 20, 50] as const;
/** A side that has not made a task of that length by then does without it. */
const LONGEST_MS = 15_000;
const READS = 50;

export const byEntries: Row = {
  name: "by-entries",
  bindings: ["grpc"],
  fresh: true,
  metrics: SIZES.flatMap((size): Metric[] => {
    const task = `a task of ${size.toLocaleString("en")} chunks`;
    return [
      {
        key: `event-${size}`,
        title: `one stream of ${task}`,
        unit: "events/s",
        aim: () => ({ kind: "ratio-at-least", value: size > 100 ? 50 : 1 }),
      },
      { key: `get-${size}`, title: `GetTask of ${task}: median`, unit: "ms", aim: () => ({ kind: "ratio-at-most", value: 1 }) },
      {
        key: `subscribe-${size}`,
        title: `SubscribeToTask to ${task}, first frame: median`,
        unit: "ms",
        aim: () => ({ kind: "ratio-at-most", value: 1 }),
      },
    ];
  }),
  async run(context) {
    const driver = context.open(1);
    const samples: Record<string, Sample> = {};
    for (const [index, events] of (context.quick ? QUICK_SIZES : SIZES).entries()) {
      const named = SIZES[index];
      const streamed = await stream(context, driver, events);
      if (streamed === undefined) break;
      samples[`event-${named}`] = streamed;
      const { get, subscribe } = await reads(driver, events, context.quick);
      samples[`get-${named}`] = { value: median(get) };
      samples[`subscribe-${named}`] = { value: median(subscribe) };
    }
    return samples;
  },
};

/** The second half of many tasks, or one long one. Undefined: it takes too long. */
async function stream({ measure }: RowContext, driver: Driver, events: number): Promise<Sample | undefined> {
  const tasks = Math.max(1, Math.ceil(2_000 / events));
  const once = async (): Promise<boolean> => {
    const call = driver.send(`events=${events} bytes=100 kind=artifact`);
    const late = new AbortController();
    const ended = await Promise.race([
      completeWith(driver, call, events + FRAMES_AROUND).then(() => true),
      sleep(LONGEST_MS, false, { signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    if (!ended) call.cancel();
    return ended;
  };
  for (let warm = 0; warm < tasks; warm++) if (!(await once())) return undefined;
  const { result, ...cost } = await measure(async () => {
    for (let index = 0; index < tasks; index++) if (!(await once())) return false;
    return true;
  });
  return result ? rate(tasks * events, cost) : undefined;
}

/** Of a task that has so many chunks and is not over. */
async function reads(driver: Driver, events: number, quick: boolean): Promise<Readonly<Record<"get" | "subscribe", number[]>>> {
  const written = Promise.withResolvers<void>();
  const call = driver.send(`events=${events} bytes=100 kind=artifact hold=120000`, (_, index) => {
    if (index === events + 1) written.resolve();
  });
  call.ended.then(() => written.reject(new Error("the stream ended early")), written.reject);
  await written.promise;
  const { payload } = driver.event(await call.opened);
  if (payload.case !== "task") throw new Error("the first frame is no task");
  const { id } = payload.value;
  const get = async (): Promise<void> => void (await driver.get(id));
  const subscribe = async (): Promise<void> => {
    const follower = driver.subscribe(id);
    await follower.opened;
    follower.cancel();
  };
  // Often enough for all sides to be compiled: a server runs for days. Node ends a connection on which a thousand streams are canceled in haste.
  const ms = quick ? 50 : 2_000;
  await repeat({ workers: 8, ms }, get);
  await repeat({ workers: 8, ms, max: 250 }, subscribe);
  const times: Record<"get" | "subscribe", number[]> = { get: [], subscribe: [] };
  for (let index = 0; index < READS; index++) {
    times.get.push(await timed(get));
    times.subscribe.push(await timed(subscribe));
  }
  await driver.cancel(id);
  await call.ended;
  return times;
}
