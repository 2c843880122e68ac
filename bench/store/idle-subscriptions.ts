/** What subscriptions cost on which nothing happens, beyond the gRPC streams that carry them. */
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { openDriver } from "../drivers/open.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import { BARE, OURS } from "../programs.ts";
import { repeat } from "../rows/repeat.ts";
import type { Driver } from "../drivers/driver.ts";
import { newTask, openStore } from "./replica.ts";
import type { StoreRow } from "./store-row.ts";

const STREAMS_PER_CONNECTION = 100;

export const idleSubscriptions: StoreRow = {
  name: "idle-subscriptions",
  metrics: [
    {
      key: "rss",
      title: "10,000 idle gRPC subscriptions over 1,000 tasks (RSS) ÷ bare grpc-js streams",
      unit: "kB/stream",
      aim: { kind: "beyond-at-most", value: 10 },
    },
    { key: "heap", title: "the same (heap)", unit: "kB/stream", aim: { kind: "beyond-at-most", value: 10 } },
    { key: "connections", title: "connections of that replica to Redis", unit: "connections", aim: { kind: "at-most", value: 2 } },
  ],
  async run({ redis, quick, profileDir }) {
    const [streams, tasks] = quick ? [500, 50] : [10_000, 1_000];
    const ids = await heldTasks(redis.url, tasks);
    const ours = await startServer(OURS, { redisUrl: redis.url, profileDir });
    let connections = 0;
    const held = await growth(ours, ids, streams, async () => {
      const list =
        String(await redis.call("CLIENT", "LIST", "TYPE", "normal")) + String(await redis.call("CLIENT", "LIST", "TYPE", "pubsub"));
      // One is that of the question.
      connections = list.trim().split("\n").length - 1;
    });
    const bare = await startServer(BARE, { profileDir });
    const baseline = await growth(bare, ids, streams);
    return {
      rss: { ours: held.rss, baseline: baseline.rss },
      heap: { ours: held.heapUsed, baseline: baseline.heapUsed },
      connections: { ours: connections },
    };
  },
};

/** Tasks that wait for their callers: subscriptions to them stay open, and nobody runs them. */
async function heldTasks(url: string, count: number): Promise<string[]> {
  const storage = await openStore(url);
  const ids: string[] = [];
  await repeat({ workers: 32, ms: 60_000, max: count }, async () => {
    const task = newTask(storage, TaskState.INPUT_REQUIRED);
    await storage.create(task);
    ids.push(task.id);
  });
  await storage.close();
  return ids;
}

/** Memory per stream, in kB. Ends the server. */
async function growth(
  server: ServerProcess,
  ids: readonly string[],
  streams: number,
  whileHeld: () => Promise<void> = () => Promise.resolve(),
): Promise<{ rss: number; heapUsed: number }> {
  await using _ = server;
  const driver = openDriver("grpc", server.urls, Math.ceil(streams / STREAMS_PER_CONNECTION));
  try {
    // Loaded code is not to be counted as streams.
    await subscribe(driver, ids.slice(0, 10), 100);
    const before = await server.stats(true);
    await subscribe(driver, ids, streams);
    const after = await server.stats(true);
    await whileHeld();
    const perStream = (key: "rss" | "heapUsed"): number => ((after[key] ?? Number.NaN) - (before[key] ?? Number.NaN)) / streams / 1_000;
    return { rss: perStream("rss"), heapUsed: perStream("heapUsed") };
  } finally {
    driver.close();
  }
}

async function subscribe(driver: Driver, ids: readonly string[], streams: number): Promise<void> {
  let next = 0;
  const opened = await repeat({ workers: 50, ms: 120_000, max: streams }, async () => {
    await driver.subscribe(ids[next++ % ids.length] as string).opened;
  });
  if (opened !== streams) throw new Error(`only ${opened} of ${streams} streams were opened in time`);
}
