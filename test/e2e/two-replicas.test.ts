/** One task, two replicas: who runs it and who reads it need not be the same, and a reader may change from one to the other. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Agent, Turn } from "../../src/core/agent.ts";
import { type AgentEvent, artifact, textPart, working } from "../../src/index.ts";
import type { FollowerRecord, SeenFrame } from "../../src/testing/index.ts";
import { nextFrame, send } from "../bindings/bed.ts";
import type { Caller } from "../bindings/callers/caller.ts";
import { logHeaders, positioned } from "../chaos/position.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { Pace } from "./pace.ts";
import { assertPromises, idOf, recordOf, Replica } from "./replica.ts";
import { firstOf, follow } from "./seen.ts";

const CANCELS = 200;
const CHUNKS = 120;
/** What a reader takes before it goes to the other replica. */
const VISIT = 17;

/** When the turn of a task was told to stop. */
const stopped = new Map<string, PromiseWithResolvers<number>>();
/** By the text that begins a turn. */
const paces = new Map<unknown, Pace>();

const agent: Agent = {
  card: { name: "pair", description: "", version: "1" },
  async *run({ message, taskId, signal }: Turn): AsyncGenerator<AgentEvent> {
    yield working("on it");
    const pace = paces.get(message.parts[0]?.content.value);
    if (pace !== undefined) {
      yield* chunks(pace);
      return;
    }
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    stopped.get(taskId)?.resolve(performance.now());
  },
};

async function* chunks(pace: Pace): AsyncGenerator<AgentEvent> {
  for (let count = 0; count < CHUNKS; count += 1) {
    await pace.reach(count);
    yield artifact({ artifactId: "a", parts: [textPart(`${count} `)] }, { append: count > 0, lastChunk: count === CHUNKS - 1 });
  }
}

let redis: RedisServer;
let home: Replica;
let away: Replica;

before(async () => {
  redis = await redisServer();
  home = await Replica.open(redis.url, agent, { replica: "home" });
  away = await Replica.open(redis.url, agent, { replica: "away" });
});

after(async () => {
  await Promise.all([home[Symbol.asyncDispose](), away[Symbol.asyncDispose]()]);
  await redis[Symbol.asyncDispose]();
});

test("P-31 P-50 PR-10 a cancel that is sent to another replica stops the agent at once", async (t) => {
  const times: number[] = [];
  for (let count = 0; count < CANCELS; count += 1) {
    const stream = home.grpc.stream("SendStreamingMessage", send("wait"));
    const id = idOf(await nextFrame(stream));
    const heard = Promise.withResolvers<number>();
    stopped.set(id, heard);
    await nextFrame(stream);
    const sent = performance.now();
    const canceled = away.grpc.unary("CancelTask", { id });
    times.push((await heard.promise) - sent);
    const { message } = await canceled;
    assert.equal((message["status"] as { state: string }).state, "TASK_STATE_CANCELED");
    while ((await stream.next()).done !== true);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Infinity;
  t.diagnostic(`p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, longest ${at(0.999).toFixed(1)} ms over ${times.length}`);
  // Ten times what is promised: other tests run beside this one.
  assert.ok(at(0.5) < 100);
});

for (const binding of ["grpc", "rest", "jsonRpc"] as const) {
  test(`P-50 PR-10 over ${binding}, readers that change from one replica to the other by position miss nothing and see nothing twice`, async () => {
    const pace = new Pace(VISIT);
    paces.set(binding, pace);
    const own = home[binding].stream("SendStreamingMessage", send(binding), { headers: logHeaders() });
    const first = await firstOf(own);
    const id = first.taskId;
    const subscribed = away[binding].stream("SubscribeToTask", { id }, { headers: logHeaders() });
    const readers = [
      follow(own, first),
      follow(subscribed, await firstOf(subscribed)),
      wander([away[binding], home[binding]], id, pace),
      wander([home[binding], away[binding]], id, pace),
    ];
    const followers = await Promise.all(readers);
    const [here, there] = await Promise.all([recordOf(redis, home[binding], id), recordOf(redis, away[binding], id)]);
    assert.deepEqual(here.task, there.task, "both replicas answer the same task");
    assertPromises([here], followers);
    for (const { frames } of followers.slice(2)) {
      const offsets = frames.map(({ position }) => position?.offset ?? 0);
      const all = offsets.slice(1).map((offset, index) => offset - (offsets[index] ?? 0));
      assert.ok(
        all.every((step) => step === 1),
        "each frame follows the one before, whichever replica it came from",
      );
      assert.equal(frames.filter(({ response }) => response.payload.case === "task").length, 1, "the snapshot came once, at the start");
    }
  });
}

/** Reads some frames here, then goes on after the last of them there, and so on to the end. */
async function wander(callers: readonly Caller[], taskId: string, pace: Pace): Promise<FollowerRecord> {
  const frames: SeenFrame[] = [];
  for (let visit = 0; ; visit += 1) {
    const last = frames.at(-1)?.position;
    const headers = logHeaders(last && { taskId, position: last });
    const stream = callers[visit % callers.length]?.stream("SubscribeToTask", { id: taskId }, { headers }) ?? assert.fail();
    for (let count = 0; count < VISIT; count += 1) {
      const { value, done } = await stream.next();
      if (done === true) return { taskId, frames, ended: true };
      frames.push(positioned(value));
      pace.allow((frames.at(-1)?.position?.offset ?? 0) + 1);
    }
    stream.leave();
  }
}
