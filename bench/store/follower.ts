/** From an append on one replica to the iterator of a follower on another. */
import { Redis } from "ioredis";
import { Follower } from "../../src/core/follow.ts";
import { START } from "../../src/core/log-entry.ts";
import { madeAt } from "../made-at.ts";
import { startLoad } from "../processes.ts";
import { Replica } from "./replica.ts";
import type { StoreContext, StoreRow } from "./store-row.ts";
import { quantile } from "../quantile.ts";

const BARE = "bench:bare";
const DELAY_MS = 10;

export const follower: StoreRow = {
  name: "follower",
  metrics: [
    {
      key: "p50",
      title: "append to another replica's follower, 100/s, p50 ÷ bare publish",
      unit: "ms",
      aim: { kind: "ratio-at-most", value: 2 },
    },
    { key: "p99", title: "append to another replica's follower, 100/s, p99 ÷ bare publish", unit: "ms" },
  ],
  async run({ redis, quick, profileDir }: StoreContext) {
    const [warm, count] = quick ? [20, 50] : [200, 500];
    await using replica = await Replica.open(redis.url);
    await using appender = startLoad("store/appender.ts", {}, profileDir);
    const taskId = await appender.call<string>("begin", { url: redis.url }, 10_000);

    const bareMs: number[] = [];
    const bare = new Redis(redis.url);
    bare.on("messageBuffer", (_, message: Buffer) => bareMs.push(age(message)));
    await bare.subscribe(BARE);

    const left = new AbortController();
    const ours: number[] = [];
    const { storage, snapshots } = replica;
    const frames = new Follower({ storage, snapshots, taskId, from: START, signal: left.signal, project: (frame) => frame });
    const reading = (async () => {
      for await (const frame of frames) if (frame.is === "event") ours.push(age(Buffer.from(frame.entry.bytes)));
    })();
    await appender.call("run", { count: warm + count, delay: DELAY_MS, channel: BARE }, 60_000);
    left.abort();
    await reading;
    bare.disconnect();
    if (ours.length !== warm + count + 2) throw new Error(`the follower had ${ours.length} events instead of ${warm + count + 2}`);
    const pair = (share: number): { ours: number; baseline: number } => ({
      ours: quantile(ours.slice(-count), share),
      baseline: quantile(bareMs.slice(-count), share),
    });
    return { p50: pair(0.5), p99: pair(0.99) };
  },
};

/** How long ago an update was made; the first entry of a task has none. */
function age(message: Buffer): number {
  const now = process.hrtime.bigint();
  return message.includes("t=") ? Number(now - madeAt(message)) / 1e6 : Infinity;
}
