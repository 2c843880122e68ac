/** What a task takes in Redis. */
import type { RedisServer } from "../../test/redis/redis-server.ts";
import { repeat } from "../rows/repeat.ts";
import { newTask, openStore, Replica } from "./replica.ts";
import { chunk } from "./chunk.ts";
import { TaskState, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Pair } from "../rows/pair-row.ts";
import type { StoreRow } from "./store-row.ts";

/** `stream-node-max-bytes`: the default, and the value that docs/redis.md recommends where tasks are short. */
const NODE_BYTES = [4096, 1024] as const;

export const memoryCost: StoreRow = {
  name: "memory-cost",
  metrics: NODE_BYTES.flatMap((bytes) => [
    { key: `stream-${bytes}`, title: `a stream of one event, stream-node-max-bytes ${bytes}`, unit: "bytes" },
    { key: `keys-${bytes}`, title: `all keys of a finished task of 3 updates, stream-node-max-bytes ${bytes}`, unit: "bytes" },
    { key: `whole-${bytes}`, title: `the same with its index rows, as used_memory grows, stream-node-max-bytes ${bytes}`, unit: "bytes" },
  ]),
  async run({ redis, quick }) {
    const figures: Record<string, Pair> = {};
    for (const bytes of NODE_BYTES) {
      await redis.call("CONFIG", "SET", "stream-node-max-bytes", bytes);
      figures[`stream-${bytes}`] = { ours: await oneEvent(redis) };
      const { keys, whole } = await finished(redis, quick ? 50 : 1_000);
      figures[`keys-${bytes}`] = { ours: keys };
      figures[`whole-${bytes}`] = { ours: whole };
    }
    return figures;
  },
};

async function oneEvent(redis: RedisServer): Promise<number> {
  const storage = await openStore(redis.url);
  const task = newTask(storage);
  await storage.create(task);
  await storage.close();
  const [log = ""] = await keysOf(redis, `*:l:${task.id}`);
  return usage(redis, log);
}

/** Tasks of 3 updates that ended; the mean of what they take. */
async function finished(redis: RedisServer, tasks: number): Promise<{ keys: number; whole: number }> {
  await using replica = await Replica.open(redis.url);
  let last = "";
  const run = async (): Promise<void> => {
    const writer = await replica.write();
    last = writer.fold.task.id;
    const status = (state: TaskState): void => {
      const value = { status: { state, timestamp: timestampFromMs(Date.now()) } };
      void writer.push(create(StreamResponseSchema, { payload: { case: "statusUpdate", value } }));
    };
    status(TaskState.WORKING);
    for (let index = 0; index < 3; index++) void writer.push(chunk("x".repeat(100), index > 0));
    status(TaskState.COMPLETED);
    await writer.flush();
  };
  await repeat({ workers: 8, ms: 10_000, max: 20 }, run);
  const before = await usedMemory(redis);
  await repeat({ workers: 8, ms: 60_000, max: tasks }, run);
  const whole = ((await usedMemory(redis)) - before) / tasks;
  let keys = 0;
  for (const key of await keysOf(redis, `*${last}*`)) keys += await usage(redis, key);
  return { keys, whole };
}

async function keysOf(redis: RedisServer, pattern: string): Promise<string[]> {
  return (await redis.call("KEYS", pattern)) as string[];
}

async function usage(redis: RedisServer, key: string): Promise<number> {
  return Number(await redis.call("MEMORY", "USAGE", key, "SAMPLES", 0));
}

async function usedMemory(redis: RedisServer): Promise<number> {
  return Number(/used_memory:(\d+)/u.exec(String(await redis.call("INFO", "memory")))?.[1]);
}
