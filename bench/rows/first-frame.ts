/** How long a caller waits for the first frame of a stream. */
import type { Row } from "./row.ts";

const SILENT_MS = 1_000;

export const firstFrame: Row = {
  name: "first-frame",
  bindings: ["grpc", "rest"],
  metrics: [
    {
      key: "silent",
      title: "first frame, agent silent for 1 s before all else",
      unit: "ms",
      aim: () => ({ kind: "at-most", value: 20 }),
    },
    { key: "start", title: "first frame, agent silent for 1 s after WORKING", unit: "ms", aim: () => ({ kind: "at-most", value: 20 }) },
    { key: "burst", title: "first frame, 1,000 events without a pause", unit: "ms", aim: () => ({ kind: "at-most", value: 20 }) },
  ],
  async run({ open, quick }) {
    const driver = open(1);
    const once = async (text: string, whole: boolean): Promise<number> => {
      const begun = performance.now();
      const call = driver.send(text);
      await call.opened;
      const waited = performance.now() - begun;
      // A burst is read to its end, so that what is left of it is not in the way of the next.
      if (whole) await call.ended;
      else call.cancel();
      return waited;
    };
    const median = async (samples: number, text: string, whole = false): Promise<number> => {
      const all: number[] = [];
      for (let index = 0; index < samples; index++) all.push(await once(text, whole));
      return all.toSorted((a, b) => a - b)[Math.floor(samples / 2)] as number;
    };
    await once("events=3", true);
    const samples = quick ? 1 : 3;
    return {
      silent: { value: await median(samples, `events=1 silent=${SILENT_MS}`) },
      start: { value: await median(samples, `events=1 start=${SILENT_MS}`) },
      burst: { value: await median(samples, `events=${quick ? 200 : 1_000} kind=artifact`, true) },
    };
  },
};
