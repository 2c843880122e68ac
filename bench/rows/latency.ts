/** How long one caller waits where the server has little else to do. */
import { setTimeout as sleep } from "node:timers/promises";
import { madeAt } from "../made-at.ts";
import type { Driver } from "../drivers/driver.ts";
import { quantile } from "../quantile.ts";
import type { Metric, Row, Sample } from "./row.ts";
import { repeat } from "./repeat.ts";
import { completeWith, FRAMES_AROUND, shortSend } from "./task-stream.ts";
import { timed } from "./timed.ts";

const SEND_EVERY_MS = 10;
const QUANTILES = [0.5, 0.99] as const;
const MEASURED = { send: "short send, 100/s", get: "GetTask of 100 events", event: "one stream, 100 events/s, from made to read" } as const;

type Kind = keyof typeof MEASURED;

export const latency: Row = {
  name: "latency",
  bindings: ["grpc", "rest"],
  metrics: (Object.keys(MEASURED) as Kind[]).flatMap((kind) =>
    QUANTILES.map((share): Metric => ({
      key: keyOf(kind, share),
      title: `${MEASURED[kind]}: p${share * 100}`,
      unit: "ms",
      aim: () => ({ kind: "ratio-at-most", value: 1 }),
    })),
  ),
  async run({ open, quick }) {
    const driver = open(1);
    // Long enough for both sides to be compiled: a server runs for days.
    await repeat({ workers: 8, ms: quick ? 100 : 8_000 }, () => shortSend(driver));
    const times: Readonly<Record<Kind, readonly number[]>> = {
      send: await sends(driver, quick ? 20 : 300),
      get: await gets(driver, quick ? 20 : 500),
      event: await events(driver, quick ? 20 : 300),
    };
    const kinds = Object.keys(times) as Kind[];
    return Object.fromEntries(
      kinds.flatMap((kind) => QUANTILES.map((share): [string, Sample] => [keyOf(kind, share), { value: quantile(times[kind], share) }])),
    );
  },
};

function keyOf(kind: Kind, share: number): string {
  return `${kind}-p${share * 100}`;
}

/** From the call to the end of the stream, one call each time it is due. */
async function sends(driver: Driver, count: number): Promise<number[]> {
  const times: number[] = [];
  const begun = performance.now();
  for (let index = 0; index < count; index++) {
    await sleep(Math.max(0, begun + index * SEND_EVERY_MS - performance.now()));
    times.push(await timed(() => shortSend(driver)));
  }
  return times;
}

async function gets(driver: Driver, count: number): Promise<number[]> {
  const call = driver.send("events=100 bytes=100 kind=artifact");
  await completeWith(driver, call, 100 + FRAMES_AROUND);
  const { payload } = driver.event(await call.opened);
  if (payload.case !== "task") throw new Error("the first frame is no task");
  const { id } = payload.value;
  await repeat({ workers: 8, ms: count * 8 }, async () => void (await driver.get(id)));
  const times: number[] = [];
  for (let index = 0; index < count; index++) times.push(await timed(() => driver.get(id)));
  return times;
}

/** Of each update of one stream, from its making in the agent to its arrival here. */
async function events(driver: Driver, count: number): Promise<number[]> {
  const times: number[] = [];
  const call = driver.send(`events=${count} bytes=100 kind=artifact delay=10`, (frame, index) => {
    const now = process.hrtime.bigint();
    if (index >= 2 && index < count + 2) times.push(Number(now - madeAt(frame)) / 1e6);
  });
  await completeWith(driver, call, count + FRAMES_AROUND);
  return times;
}
