/** GetTask of one task with 100 events. */
import { completeWith, FRAMES_AROUND } from "./task-stream.ts";
import { repeat } from "./repeat.ts";
import { rate, type Row } from "./row.ts";

const EVENTS = 100;

export const gets: Row = {
  name: "gets",
  metrics: [
    {
      key: "rate",
      title: "GetTask of 100 events, 32 at once",
      unit: "gets/s",
      aim: (binding) => ({ kind: "ratio-at-least", value: binding === "grpc" ? 1.6 : 2.5 }),
    },
  ],
  async run({ open, measure, quick }) {
    const driver = open(4);
    const call = driver.send(`events=${EVENTS} bytes=100 kind=artifact`);
    await completeWith(driver, call, EVENTS + FRAMES_AROUND);
    const { payload } = driver.event(await call.opened);
    if (payload.case !== "task") throw new Error("the first frame is no task");
    const { id } = payload.value;

    const whole = await driver.get(id);
    const parts = driver.task(whole).artifacts[0]?.parts.length;
    if (parts !== EVENTS) throw new Error(`the task has ${parts} parts instead of ${EVENTS}`);
    const get = async (): Promise<void> => {
      const reply = await driver.get(id);
      if (reply.length !== whole.length) throw new Error(`GetTask answered ${reply.length} bytes, before ${whole.length}`);
    };
    await repeat({ workers: 32, ms: quick ? 100 : 1_000 }, get);
    const { result, ...cost } = await measure(() => repeat({ workers: 32, ms: quick ? 200 : 2_000 }, get));
    return { rate: rate(result, cost) };
  },
};
