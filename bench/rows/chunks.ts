/** One task of many artifact chunks, read by one stream. */
import { completeWith, FRAMES_AROUND } from "./task-stream.ts";
import { repeat } from "./repeat.ts";
import { rate, type Row } from "./row.ts";

export const chunks: Row = {
  name: "chunks",
  metrics: [{ key: "rate", title: "one task of 1,000 chunks", unit: "events/s", aim: () => ({ kind: "ratio-at-least", value: 50 }) }],
  async run({ open, measure, quick }) {
    const driver = open(1);
    const events = quick ? 200 : 1_000;
    const send = (): Promise<void> => completeWith(driver, driver.send(`events=${events} bytes=100 kind=artifact`), events + FRAMES_AROUND);
    await repeat({ workers: 1, ms: quick ? 50 : 2_000, max: 100 }, send);
    const { result, ...cost } = await measure(() => repeat({ workers: 1, ms: quick ? 100 : 2_000, max: 200 }, send));
    return { rate: rate(result * events, cost) };
  },
};
