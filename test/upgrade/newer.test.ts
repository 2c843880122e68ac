/** The current version beside one that writes a format which it cannot read: what it leaves alone, and how it says so. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type StreamResponse, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { READS, WRITES } from "../../src/core/format.ts";
import { failureOf, send, startTask, stateOf, taskOf } from "../bindings/bed.ts";
import type { Caller, Failure } from "../bindings/callers/caller.ts";
import { logHeaders } from "../chaos/position.ts";
import { ReplicaProcess } from "../e2e/replica-process.ts";
import { firstOf, follow } from "../e2e/seen.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { keysOf } from "../storage/store-bed.ts";
import { Receiver } from "../webhooks/receiver.ts";
import { Bell, LEASE, ticking, WITHIN_MS } from "./mixed.ts";
import { Version } from "./version.ts";

const OPTIONS = { ...LEASE, "push-enabled": "true", "push-allow": "127.0.0.0/8" } as const;
const FORMAT = "src/core/format.ts";
/** Commands in a second of a replica that has nothing to do; one that tries again and again sends tens of thousands. */
const IDLE_COMMANDS = 3000;

suite("beside a newer version", { timeout: 280_000 }, () => {
  let version: Version;
  let redis: RedisServer;
  let older: ReplicaProcess;
  let newer: ReplicaProcess;
  const startNewer = (): Promise<ReplicaProcess> => ReplicaProcess.start(redis.url, "newer", OPTIONS, version);
  before(async () => {
    version = Version.edited("newer", [
      { file: FORMAT, from: `READS = ${READS};`, to: `READS = ${READS + 1};` },
      { file: FORMAT, from: `WRITES = ${WRITES};`, to: `WRITES = ${READS + 1};` },
    ]);
    redis = await redisServer();
    older = await ReplicaProcess.start(redis.url, "older", OPTIONS, Version.current());
    newer = await startNewer();
  });
  after(async () => {
    for (const replica of [newer, older]) await replica?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    version?.[Symbol.dispose]();
  });

  test("calls that need the log of its tasks are UNAVAILABLE on every binding, and say why; lists show them", async () => {
    using bell = new Bell();
    const id = await startTask(newer.grpc, bell.text);
    const { contextId } = taskOf(await newer.grpc.unary("GetTask", { id }));
    for (const caller of older.callers) {
      for (const method of ["GetTask", "CancelTask"]) assertLeft(caller, id, await failureOf(caller.unary(method, { id })));
      assertLeft(caller, id, await failureOf(caller.unary("SendMessage", send("more", { message: { taskId: id } }))));
      assertLeft(caller, id, await failureOf(caller.stream("SubscribeToTask", { id })));
      const { message } = await caller.unary("ListTasks", { contextId });
      assert.deepEqual(
        (message["tasks"] as { id: string }[]).map((task) => task.id),
        [id],
      );
      assertLeft(caller, id, await failureOf(caller.unary("ListTasks", { contextId, includeArtifacts: true })));
      const other = id.replace(/^......../, "00000000");
      assert.equal((await failureOf(caller.unary("GetTask", { id: other }))).reason, "TASK_NOT_FOUND");
    }
    bell.ring();
    await until("the task is completed", WITHIN_MS, async () => (await stateAt(newer, id)) === "TASK_STATE_COMPLETED");
  });

  test("a turn that hears of a newer command gives its lease back at once; its readers are told to go elsewhere, where they miss nothing", async () => {
    using bell = new Bell();
    const followers = older.callers.map((caller) => caller.stream("SendStreamingMessage", send(bell.text), { headers: logHeaders() }));
    const begun = await Promise.all(followers.map((stream) => firstOf(stream)));
    await ticking(
      redis,
      begun.map(({ taskId }) => ({ id: taskId })),
    );
    await Promise.all(
      begun.map(async (first, at) => {
        const { taskId } = first;
        const [caller, stream] = [older.callers[at], followers[at]];
        assert.ok(caller !== undefined && stream !== undefined);
        const there = newer.grpc.stream("SubscribeToTask", { id: taskId }, { headers: logHeaders() });
        const elsewhere = follow(there, await firstOf(there));
        const frames = [first.frame];
        const ended = failureOf(follow(stream, first, frames).then(() => undefined));
        const canceled = taskOf(await newer.rest.unary("CancelTask", { id: taskId }));
        assert.equal(stateOf(canceled), "TASK_STATE_CANCELED");
        assertLeft(caller, taskId, await ended);
        const log = await storedLogOf(redis, taskId);
        const seen = (await elsewhere).frames.at(-1)?.response.payload;
        assert.ok(seen?.case === "statusUpdate" && seen.value.status?.state === TaskState.CANCELED);
        const [released] = (await redis.call("HMGET", keysOf(taskId).task(taskId), "rl")) as string[];
        assert.equal(released?.slice(0, 2), "1 ", "given back by its owner, not run out");
        assert.deepEqual([log.at(0)?.format, log.at(-1)?.format], [String(WRITES), String(READS + 1)]);
      }),
    );
  });

  test("a task that waits for its caller is continued by the newer version, and the older one's readers hear that it left them", async () => {
    using bell = new Bell();
    const id = await startTask(older.grpc, "ask");
    await until("the task waits", WITHIN_MS, async () => (await stateAt(older, id)) === "TASK_STATE_INPUT_REQUIRED");
    const stream = older.grpc.stream("SubscribeToTask", { id }, { headers: logHeaders() });
    const first = await firstOf(stream);
    const ended = failureOf(follow(stream, first).then(() => undefined));
    bell.ring();
    const done = taskOf(await newer.grpc.unary("SendMessage", send(bell.text, { message: { taskId: id } })));
    assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
    assertLeft(older.grpc, id, await ended);
  });

  test("a webhook that the older version was delivering to is left to the newer one, which goes on where it was", async () => {
    using bell = new Bell();
    await using receiver = await Receiver.open();
    const id = await startTask(older.grpc, "ask", {
      configuration: { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url() } },
    });
    await receiver.until((received) => received.length === 2);
    bell.ring();
    await newer.grpc.unary("SendMessage", send(bell.text, { message: { taskId: id } }));
    await receiver.until((received) => received.some(({ event }) => stateIn(event) === TaskState.COMPLETED));
    const ids = receiver.received.map((one) => one.id);
    assert.equal(new Set(ids).size, ids.length, "none comes twice");
    const events = (await storedLogOf(redis, id)).filter(({ kind }) => kind === "e");
    assert.equal(ids.length, events.length);
  });

  test("its tasks wait for it after SIGKILL, without a busy loop and without standing before others", async (t) => {
    using bell = new Bell();
    const ids = await Promise.all(Array.from({ length: 8 }, () => startTask(newer.grpc, bell.text)));
    newer.signal("SIGKILL");
    await newer.server.process.exited;
    const waits = async (id: string): Promise<boolean> => (await redis.call("ZSCORE", keysOf(id).ready, id)) !== null;
    await until("all wait", WITHIN_MS, async () => (await Promise.all(ids.map(waits))).every(Boolean));
    const said = "tasks wait for a newer version of this program";
    await older.server.process.until(({ stdout, stderr }) => (stdout + stderr).includes(said));
    const sent = async (): Promise<number> => Number(/total_commands_processed:(\d+)/.exec(String(await redis.call("INFO", "stats")))?.[1]);
    const sentBefore = await sent();
    await delay(1000);
    const sentSince = (await sent()) - sentBefore;
    t.diagnostic(`${sentSince} commands in a second`);
    assert.ok(sentSince < IDLE_COMMANDS);
    const { stdout, stderr } = older.server.process;
    assert.equal((stdout + stderr).split(said).length, 2, "once a minute");
    // What it can read it runs.
    const mine = await startTask(older.grpc, bell.text);
    await ticking(redis, [{ id: mine }]);
    for (const id of ids) assert.ok(await waits(id));
    newer = await startNewer();
    await ticking(
      redis,
      ids.map((id) => ({ id })),
    );
    bell.ring();
    for (const id of [...ids, mine]) {
      await until("completed", WITHIN_MS, async () => (await stateAt(newer, id)) === "TASK_STATE_COMPLETED");
    }
  });
});

async function stateAt({ grpc }: ReplicaProcess, id: string): Promise<string> {
  return stateOf((await grpc.unary("GetTask", { id })).message);
}

/** Kind and format of each entry, past every store: this version's reads no further than it can. */
async function storedLogOf(redis: RedisServer, id: string): Promise<{ kind: string | undefined; format: string | undefined }[]> {
  const stored = (await redis.call("XRANGE", keysOf(id).log(id), "-", "+")) as [string, string[]][];
  return stored.map(([, [, header = ""]]) => ({ kind: header[0], format: header.split(" ")[3] }));
}

function stateIn({ payload }: StreamResponse): TaskState | undefined {
  return payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
}

/** The error says that another replica is to be asked. */
function assertLeft({ binding }: Caller, taskId: string, failure: Failure): void {
  assert.deepEqual([failure.reason, failure.metadata["taskId"]], ["NEWER_VERSION", taskId], `${binding}: ${failure.message}`);
  assert.match(failure.message, /written by a newer version/);
  if (binding === "grpc") assert.equal(failure.code, 14);
  else if (failure.httpStatus !== undefined) assert.equal(failure.httpStatus, 503);
}
