/** The other replica of the follower's row: appends to a task and, half a beat later, publishes the same bytes bare. */
import { setTimeout as sleep } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { Redis } from "ioredis";
import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { LogWriter } from "../../src/worker/log-writer.ts";
import { pacer, updateText } from "../../examples/conformance-agent/bench-script.ts";
import { link } from "../ipc.ts";
import { chunk } from "./chunk.ts";
import { Replica } from "./replica.ts";

let writer: LogWriter;
let bare: Redis;

/** Opens the replica and begins a task; answers its id. */
async function begin({ url }: { url: string }): Promise<string> {
  const replica = await Replica.open(url);
  bare = new Redis(url);
  writer = await replica.write();
  await push(false);
  return writer.fold.task.id;
}

/** So many of both, one of each every `delay` ms. */
async function run({ count, delay, channel }: { count: number; delay: number; channel: string }): Promise<void> {
  const beat = pacer(delay, new AbortController().signal);
  for (let index = 0; index < count; index++) {
    await push(true);
    await sleep(delay / 2);
    await bare.publish(channel, Buffer.from(toBinary(StreamResponseSchema, chunk(updateText(100), true))));
    await beat();
  }
}

async function push(append: boolean): Promise<void> {
  void writer.push(chunk(updateText(100), append));
  await writer.flush();
}

link(process, { begin, run });
process.once("disconnect", () => process.exit(0));
