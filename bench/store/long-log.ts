/** Whether an append costs more where the log is long. */
import type { LogWriter } from "../../src/worker/log-writer.ts";
import { chunk } from "./chunk.ts";
import { Replica } from "./replica.ts";
import type { StoreRow } from "./store-row.ts";
import { median } from "../quantile.ts";

const SHORT = 100;
const TEXT = "x".repeat(1_000);

export const longLog: StoreRow = {
  name: "long-log",
  metrics: [
    {
      key: "append",
      title: "append of 1 kB to a log of 10,000 entries ÷ of 100",
      unit: "ms",
      aim: { kind: "ratio-at-most", value: 1.1 },
    },
  ],
  async run({ redis, quick }) {
    const [length, samples] = quick ? [1_000, 100] : [10_000, 1_000];
    await using replica = await Replica.open(redis.url);
    const long = await replica.write();
    await fill(long, length);
    const times: { readonly long: number[]; readonly short: number[] } = { long: [], short: [] };
    let short = await replica.write();
    // In turns, append by append: what else the machine does hits both alike.
    for (let index = 0; index < samples; index++) {
      if (index % SHORT === 0) {
        short = await replica.write();
        await fill(short, SHORT);
      }
      times.long.push(await timed(long));
      times.short.push(await timed(short));
    }
    // The first half is the warm-up.
    const half = samples / 2;
    return { append: { ours: median(times.long.slice(half)), baseline: median(times.short.slice(half)) } };
  },
};

/** Makes a log so many entries long. */
export async function fill(writer: LogWriter, entries: number): Promise<void> {
  for (let index = writer.fold.position.offset; index < entries; index++) {
    const full = writer.push(chunk(TEXT, index > 1));
    if (full !== undefined) await full;
  }
  await writer.flush();
}

async function timed(writer: LogWriter): Promise<number> {
  const event = chunk(TEXT, true);
  const began = performance.now();
  void writer.push(event);
  await writer.flush();
  return performance.now() - began;
}
