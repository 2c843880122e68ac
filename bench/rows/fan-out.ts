/** Many streams on one task. */
import { madeAt } from "../made-at.ts";
import type { Driver } from "../drivers/driver.ts";
import { beginTask, completeWith, FRAMES_AROUND, subscribeMany } from "./task-stream.ts";
import { type Measured, rate, type Row, type RowContext, type Sample, sample } from "./row.ts";

const STREAMS = 500;
const MANY_STREAMS = 5_000;
const STREAMS_PER_CONNECTION = 50;

export const fanOut: Row = {
  name: "fan-out",
  replicas: 2,
  metrics: [
    {
      key: "rate",
      title: "500 streams on one task, as fast as it goes",
      unit: "events/s",
      aim: () => ({ kind: "ratio-at-least", value: 3 }),
      floor: 0.8,
    },
  ],
  run: (context) => flood(context, { streams: context.quick ? 50 : STREAMS, events: context.quick ? 50 : 300 }),
};

export const wideFanOut: Row = {
  name: "wide-fan-out",
  bindings: ["grpc"],
  replicas: 2,
  metrics: [
    {
      key: "rate",
      title: "5,000 streams on one task, as fast as it goes",
      unit: "events/s",
      aim: () => ({ kind: "ratio-at-least", value: 3 }),
      floor: 0.8,
    },
  ],
  run: (context) => flood(context, { streams: context.quick ? 100 : MANY_STREAMS, events: context.quick ? 20 : 60, start: 15_000 }),
};

async function flood(context: RowContext, shape: Omit<Shape, "delay">): Promise<{ rate: Sample }> {
  const drivers = openBoth(context, shape.streams);
  await deliver(context, drivers, { streams: Math.min(shape.streams, STREAMS), events: 20, delay: 0 });
  const { delivered, cost } = await deliver(context, drivers, { ...shape, delay: 0 });
  return { rate: rate(delivered, cost) };
}

export const paced: Row = {
  name: "paced",
  replicas: 2,
  metrics: [
    {
      key: "cpu",
      title: "500 streams, 100 events/s: server CPU",
      unit: "µs/event",
      aim: (binding) => ({ kind: "ratio-at-most", value: binding === "grpc" ? 0.55 : 0.75 }),
    },
    { key: "pace", title: "500 streams, 100 events/s: pace kept", unit: "events/s" },
  ],
  async run(context) {
    const streams = context.quick ? 50 : STREAMS;
    const events = context.quick ? 50 : 400;
    const drivers = openBoth(context, streams);
    await deliver(context, drivers, { streams, events: context.quick ? 10 : 50, delay: 10 });
    const { delivered, cost } = await deliver(context, drivers, { streams, events, delay: 10 });
    return { cpu: sample(cost.serverCpu / delivered, cost), pace: sample(events / cost.seconds, cost) };
  },
};

/** What was delivered. */
interface Delivery {
  readonly delivered: number;
  /** From the making of the first event to the arrival of the last; CPU from before the first event on. */
  readonly cost: Omit<Measured<unknown>, "result">;
}

interface Shape {
  readonly streams: number;
  readonly events: number;
  readonly delay: number;
  /** In which all streams are opened. Default 2,000 ms. */
  readonly start?: number;
}

/** Half of the streams go to the replica that runs the task, half to the other one. */
type Drivers = readonly [Driver, Driver];

export function openBoth({ open }: Pick<RowContext, "open">, streams: number): Drivers {
  const connections = Math.ceil(streams / 2 / STREAMS_PER_CONNECTION);
  return [open(connections, 0), open(connections, 1)];
}

/** Opens all streams while the agent waits, then lets it emit; every event must reach every stream. */
export async function deliver(
  { quick, measure }: Pick<RowContext, "quick" | "measure">,
  [driver, other]: Drivers,
  { streams, events, delay, start: whole = 2_000 }: Shape,
): Promise<Delivery> {
  const start = quick ? 400 : whole;
  let begun: bigint | undefined;
  const task = await beginTask(driver, `events=${events} bytes=100 kind=artifact start=${start} delay=${delay}`, (frame, index) => {
    if (index === 2) begun = madeAt(frame);
  });
  const here = streams / 2;
  const subscribed = (await Promise.all([subscribeMany(driver, task.id, here - 1), subscribeMany(other, task.id, here)])).flat();

  const { serverCpu, loadCpu } = await measure(async () => {
    // The first frames must all be in before the first event: a later one would carry events inside its Task.
    if (begun !== undefined) throw new Error(`attaching ${streams} streams took longer than ${start} ms`);
    const frames = events + FRAMES_AROUND;
    await Promise.all([
      completeWith(driver, task.call, frames),
      // Without the working event, which their first frame holds already.
      ...subscribed.map((call) => completeWith(driver, call, frames - 1)),
    ]);
  });
  const seconds = Number(process.hrtime.bigint() - (begun as bigint)) / 1e9;
  return { delivered: events * streams, cost: { seconds, serverCpu, loadCpu } };
}
