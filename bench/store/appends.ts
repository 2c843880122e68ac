/** How fast many tasks append: through the worker, and by the bare script. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Redis } from "ioredis";
import { MessageSchema, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { CommandSchema } from "../../gen/throughline/v1/log_pb.ts";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, textPart } from "../../src/core/events.ts";
import { Fold } from "../../src/core/fold.ts";
import { newMark, type NewEntry } from "../../src/core/log-entry.ts";
import type { RedisStorage } from "../../src/storage/redis/index.ts";
import { ShardKeys, shardOf } from "../../src/storage/redis/keys.ts";
import { SCRIPTS } from "../../src/storage/redis/scripts.ts";
import { chunk } from "./chunk.ts";
import { newTask, openStore, Replica, storeOptions } from "./replica.ts";
import type { Pair } from "../rows/pair-row.ts";
import type { StoreContext, StoreRow } from "./store-row.ts";
import { median } from "../quantile.ts";

const TASKS = 64;
const TEXT = "x".repeat(100);

export const appends: StoreRow = {
  name: "appends",
  metrics: [
    {
      key: "one",
      title: "events/s of 64 tasks through the worker, 1 per append ÷ bare script",
      unit: "events/s",
      aim: { kind: "ratio-at-least", value: 0.5 },
    },
    {
      key: "sixteen",
      title: "events/s of 64 tasks through the worker, 16 per append ÷ bare script",
      unit: "events/s",
      aim: { kind: "ratio-at-least", value: 0.25 },
    },
    { key: "size", title: "events per append where the agent yields 16 at once", unit: "events" },
  ],
  async run(context) {
    const one = await compare(context, 1);
    const sixteen = await compare(context, 16);
    return { one: one.rate, sixteen: sixteen.rate, size: { ours: sixteen.size } };
  },
};

/** Ours and the bare script in turns. */
async function compare({ redis, quick }: StoreContext, batch: number): Promise<{ rate: Pair; size: number }> {
  const ms = quick ? 200 : 1_500;
  await byWorker(redis.url, batch, ms);
  await byScript(redis.url, batch, ms);
  const [ours, baseline]: [number[], number[]] = [[], []];
  let size = 0;
  for (let turn = 0; turn < (quick ? 1 : 3); turn++) {
    const measured = await byWorker(redis.url, batch, ms);
    ours.push(measured.rate);
    ({ size } = measured);
    baseline.push(await byScript(redis.url, batch, ms));
  }
  return { rate: { ours: median(ours), baseline: median(baseline) }, size };
}

/** Agents that yield a step, wait until it is stored, and yield the next. */
async function byWorker(url: string, batch: number, ms: number): Promise<{ rate: number; size: number }> {
  const steps = new Map<string, Step>();
  const phase = { over: false };
  const agent: Agent = {
    card: { name: "bench", description: "Appends as fast as it can", version: "1.0.0" },
    async *run({ task }) {
      const step = steps.get(task.id) as Step;
      for (let begun = false; !phase.over; begun = true) {
        for (let index = 0; index < batch; index++) {
          yield artifact({ artifactId: "bench", parts: [textPart(TEXT)] }, { append: begun || index > 0 });
        }
        await step.stored(batch);
      }
    },
  };
  await using replica = await Replica.open(url, agent);
  const { storage, worker } = replica;
  const append = storage.append.bind(storage);
  const counts = { events: 0, appends: 0 };
  storage.append = async (lease, sent) => {
    const entries = await append(lease, sent);
    counts.appends += 1;
    counts.events += entries.length;
    steps.get(lease.taskId)?.add(entries.length);
    return entries;
  };
  await Promise.all(Array.from({ length: TASKS }, () => begin(replica, steps)));
  const before = { ...counts };
  const began = performance.now();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const seconds = (performance.now() - began) / 1_000;
  const events = counts.events - before.events;
  const size = events / (counts.appends - before.appends);
  phase.over = true;
  while (worker.owned > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  return { rate: events / seconds, size };
}

/** What of a task's step is stored. */
class Step {
  // WORKING comes along with the first step.
  #count = -1;
  #wanted = 0;
  #resolve: () => void = () => undefined;

  add(entries: number): void {
    this.#count += entries;
    if (this.#count >= this.#wanted) this.#resolve();
  }

  stored(entries: number): Promise<void> {
    this.#wanted += entries;
    return this.#count >= this.#wanted ? Promise.resolve() : new Promise((resolve) => (this.#resolve = resolve));
  }
}

async function begin({ storage, worker }: Replica, steps: Map<string, Step>): Promise<void> {
  using place = worker.reserve();
  if (place === undefined) throw new Error("no room for a turn");
  const request = { ...newTask(storage), lease: { token: place.token, replica: place.replica } };
  steps.set(request.id, new Step());
  const reply = await storage.create({ ...request, entries: [...request.entries, startEntry()] });
  if (reply.is !== "created" || reply.lease === undefined) throw new Error("the task was not created with a lease");
  const fold = new Fold(storeOptions().historyLimit);
  for (const entry of reply.entries) fold.add(entry);
  worker.adopt({ lease: reply.lease, fold, consumed: 0, attempts: 1, cancelRequested: false });
}

/** What makes a turn begin. */
function startEntry(): NewEntry {
  const bytes = toBinary(CommandSchema, create(CommandSchema, { kind: { case: "start", value: create(MessageSchema, {}) } }));
  return { kind: "command", mark: newMark(), bytes };
}

/** The same script with the same payload on one plain connection. */
async function byScript(url: string, batch: number, ms: number): Promise<number> {
  const storage = await openStore(url);
  const redis = new Redis(url);
  await redis.script("LOAD", SCRIPTS.append.text);
  const bytes = Buffer.from(toBinary(StreamResponseSchema, chunk(TEXT, true)));
  let events = 0;
  const until = performance.now() + ms;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: TASKS }, async () => {
      const task = await bareTask(storage);
      while (performance.now() < until) {
        const args = [...task.args(), ...Array.from({ length: batch }, () => ["e", newMark(), bytes]).flat()];
        const reply = (await redis.call("EVALSHA", [SCRIPTS.append.sha, task.keys.length, ...task.keys, ...args])) as string[];
        if (reply[0] !== "OK") throw new Error(`the script answered ${reply.join(" ")}`);
        task.moveOn(Number(reply[1]) + batch - 1, String(args.at(-2)));
        events += batch;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  redis.disconnect();
  await storage.close();
  return events / seconds;
}

interface BareTask {
  readonly keys: readonly string[];
  /** All arguments before the entries. */
  args(): (string | number)[];
  moveOn(offset: number, mark: string): void;
}

async function bareTask(storage: RedisStorage): Promise<BareTask> {
  const { prefix, shards } = storeOptions().redis;
  const lease = { token: newMark() + newMark(), replica: "bare" };
  const request = { ...newTask(storage), lease };
  const reply = await storage.create(request);
  if (reply.is !== "created") throw new Error("the task was not created");
  const { id } = request;
  const keys = new ShardKeys(prefix, shardOf(id, shards) as number);
  let [offset, mark] = [1, request.entries[0]?.mark ?? ""];
  return {
    keys: [keys.task(id), keys.log(id), keys.leases, keys.ready, keys.end],
    args: () => [id, 1, lease.token, offset, mark, 0, 0, "PUBLISH", keys.events(id), "", "", "", "", "", "", request.head.state, 0],
    moveOn: (last, lastMark) => {
      [offset, mark] = [last, lastMark];
    },
  };
}
