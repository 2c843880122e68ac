/** How long a subscriber of a long task waits for its first frame, beside the mere reading of the task's bytes. */
import { create } from "@bufbuild/protobuf";
import { Redis } from "ioredis";
import { SubscribeToTaskRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { parsePointer, partKeys } from "../../src/storage/redis/checkpoints.ts";
import { ShardKeys, shardOf } from "../../src/storage/redis/keys.ts";
import { chunk } from "./chunk.ts";
import { fill } from "./long-log.ts";
import { Replica, storeOptions } from "./replica.ts";
import type { StoreRow } from "./store-row.ts";
import { median } from "../quantile.ts";

export const subscribeLong: StoreRow = {
  name: "subscribe-long",
  metrics: [
    {
      key: "warm",
      title: "SubscribeToTask, 10,000 chunks of 1 kB, first frame out of the service, warm ÷ reading the bytes",
      unit: "ms",
      aim: { kind: "ratio-at-most", value: 2 },
    },
    { key: "cold", title: "the same, cold ÷ reading the bytes", unit: "ms", aim: { kind: "ratio-at-most", value: 4 } },
  ],
  async run({ redis, quick }) {
    const [length, samples] = quick ? [1_000, 3] : [10_000, 9];
    await using owner = await Replica.open(redis.url);
    const writer = await owner.write();
    await fill(writer, length);
    const { id } = writer.fold.task;
    const bare = new Redis(redis.url);
    const times: Record<"warm" | "cold" | "read", number[]> = { warm: [], cold: [], read: [] };
    for (let index = 0; index < samples; index++) {
      times.read.push(await timed(() => read(bare, id)));
      await using replica = await Replica.open(redis.url);
      globalThis.gc?.();
      times.cold.push(await timed(() => firstFrame(replica, id)));
      // Warm, but not at its end: a task that is followed goes on.
      void writer.push(chunk("and on", true));
      await writer.flush();
      times.warm.push(await timed(() => firstFrame(replica, id)));
    }
    bare.disconnect();
    const baseline = median(times.read);
    return { warm: { ours: median(times.warm), baseline }, cold: { ours: median(times.cold), baseline } };
  },
};

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function firstFrame(replica: Replica, id: string): Promise<void> {
  const left = new AbortController();
  const request = create(SubscribeToTaskRequestSchema, { id });
  const stream = replica.service.subscribeToTask(request, replica.context("subscribeToTask", left.signal))[Symbol.asyncIterator]();
  const { value } = await stream.next();
  if (value?.payload.case !== "task") throw new Error("the first frame is no task");
  left.abort();
}

/** All bytes of a task by plain commands, all asked for at once. */
async function read(bare: Redis, id: string): Promise<void> {
  const { prefix, shards } = storeOptions().redis;
  const keys = new ShardKeys(prefix, shardOf(id, shards) as number);
  const pointer = parsePointer((await bare.hget(keys.task(id), "cp")) ?? "");
  const from = Number.parseInt(pointer?.position ?? "0", 10) + 1;
  await Promise.all([...partKeys(keys, id, pointer).map((key) => bare.getBuffer(key)), bare.xrangeBuffer(keys.log(id), `${from}-0`, "+")]);
}
