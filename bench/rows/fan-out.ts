/** Many streams on one task. */
import { madeAt } from "../made-at.ts";
import type { Driver } from "../drivers/driver.ts";
import { beginTask, completeWith, FRAMES_AROUND, subscribeMany } from "./task-stream.ts";
import { type Measured, rate, type Row, type RowContext, sample } from "./row.ts";

const STREAMS = 500;
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
    },
  ],
  async run(context) {
    const streams = context.quick ? 50 : STREAMS;
    const drivers = openBoth(context, streams);
    await deliver(context, drivers, { streams, events: 20, delay: 0 });
    const { delivered, cost } = await deliver(context, drivers, { streams, events: context.quick ? 50 : 300, delay: 0 });
    return { rate: rate(delivered, cost) };
  },
};

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

interface Delivery {
  readonly delivered: number;
  /** From the making of the first event to the arrival of the last; CPU from before the first event on. */
  readonly cost: Omit<Measured<unknown>, "result">;
}

interface Shape {
  readonly streams: number;
  readonly events: number;
  readonly delay: number;
}

/** Half of the streams go to the replica that runs the task, half to the other one. */
type Drivers = readonly [Driver, Driver];

function openBoth({ open }: RowContext, streams: number): Drivers {
  const connections = Math.ceil(streams / 2 / STREAMS_PER_CONNECTION);
  return [open(connections, 0), open(connections, 1)];
}

/** Opens all streams while the agent waits, then lets it emit; every event must reach every stream. */
async function deliver(context: RowContext, [driver, other]: Drivers, { streams, events, delay }: Shape): Promise<Delivery> {
  const start = context.quick ? 400 : 2_000;
  let begun: bigint | undefined;
  const task = await beginTask(driver, `events=${events} bytes=100 kind=artifact start=${start} delay=${delay}`, (frame, index) => {
    if (index === 2) begun = madeAt(frame);
  });
  const here = streams / 2;
  const subscribed = (await Promise.all([subscribeMany(driver, task.id, here - 1), subscribeMany(other, task.id, here)])).flat();

  const { serverCpu, loadCpu } = await context.measure(async () => {
    // The first frames must all be in before the first event: a later one would carry events inside its Task.
    if (begun !== undefined) throw new Error(`attaching ${streams} streams took longer than ${start} ms`);
    const whole = events + FRAMES_AROUND;
    await Promise.all([
      completeWith(driver, task.call, whole),
      // Without the working event, which their first frame holds already.
      ...subscribed.map((call) => completeWith(driver, call, whole - 1)),
    ]);
  });
  const seconds = Number(process.hrtime.bigint() - (begun as bigint)) / 1e9;
  return { delivered: events * streams, cost: { seconds, serverCpu, loadCpu } };
}
