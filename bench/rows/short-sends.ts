/** Streaming sends of tasks with three events. */
import { shortSend } from "./task-stream.ts";
import { repeat } from "./repeat.ts";
import { rate, type Row } from "./row.ts";

export const shortSends: Row = {
  name: "short-sends",
  metrics: [
    {
      key: "many",
      title: "short sends, 32 at once",
      unit: "sends/s",
      aim: (binding, store) => ({ kind: "ratio-at-least", value: binding !== "grpc" ? 2 : store === "redis" ? 1.4 : 1.6 }),
    },
    {
      key: "one",
      title: "short sends, one at a time",
      unit: "sends/s",
      // Alone, each send waits for several round trips to a store that the other side does not have.
      aim: (_, store) => (store === "memory" ? { kind: "ratio-at-least", value: 1 } : undefined),
    },
  ],
  async run({ open, measure, quick }) {
    const driver = open(4);
    const send = (): Promise<void> => shortSend(driver);
    // Long enough for both sides to be compiled: a server runs for days.
    await repeat({ workers: 32, ms: quick ? 150 : 3_000 }, send);
    const many = await measure(() => repeat({ workers: 32, ms: quick ? 300 : 2_000 }, send));
    const one = await measure(() => repeat({ workers: 1, ms: quick ? 200 : 2_000 }, send));
    return { many: rate(many.result, many), one: rate(one.result, one) };
  },
};
