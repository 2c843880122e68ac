/** Redis has lost the end of a log, as a failover leaves it: what owners give back, and what readers are told. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { Role, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, Turn } from "../../src/core/agent.ts";
import { type Entry, formatPosition, samePosition } from "../../src/core/log-entry.ts";
import { apply } from "../../src/core/task.ts";
import { type AgentEvent, artifact, inputRequired, type Message, textPart, working } from "../../src/index.ts";
import type { FollowerRecord, SeenFrame, TaskRecord } from "../../src/testing/index.ts";
import { message, send } from "../bindings/bed.ts";
import { CallFailed } from "../bindings/callers/caller.ts";
import { Gate } from "../bindings/scenario-agent.ts";
import { logHeaders } from "../chaos/position.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { savepoint } from "../redis/savepoint.ts";
import { until } from "../redis/until.ts";
import { keysOf, storedLog } from "../storage/store-bed.ts";
import { assertPromises, recordOf, Replica } from "./replica.ts";
import { firstOf, follow } from "./seen.ts";

const WITHIN_MS = 20_000;

let gate: Gate;
let given: string[];

/** A chunk each time its gate lets it; `ask` asks after that. What it is told meanwhile is said back. */
const agent: Agent = {
  card: { name: "rewound", description: "", version: "1" },
  acceptsMessages: true,
  async *run(turn: Turn): AsyncGenerator<AgentEvent> {
    const [what, count = "0"] = textOf(turn.message).split(" ");
    yield working("on it");
    for (let done = 0; done < Number(count); done += 1) {
      if (!(await gate.pass(turn))) return;
      yield artifact({ artifactId: textOf(turn.message), parts: [textPart(`${done} `)] }, { append: done > 0 });
    }
    if (what === "ask") yield inputRequired("well?");
  },
};

function textOf({ messageId, parts }: Message): string {
  if (!given.includes(messageId)) given.push(messageId);
  const content = parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

let redis: RedisServer;
const replicas: Replica[] = [];

beforeEach(async () => {
  gate = new Gate("gate");
  given = [];
  redis = await redisServer();
});

afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

async function open(options: {
  readonly renewMs: number;
  readonly leaseMs?: number;
  readonly healWindowMs?: number;
}): Promise<[home: Replica, away: Replica]> {
  for (const replica of ["home", "away"]) replicas.push(await Replica.open(redis.url, agent, { replica, ...options }));
  return replicas as [Replica, Replica];
}

interface Begun {
  readonly id: string;
  readonly readers: readonly Promise<FollowerRecord>[];
  readonly seen: readonly SeenFrame[][];
}

/** A task at home with a reader on each replica. */
async function begin(text: string): Promise<Begun> {
  const [home, away] = replicas as [Replica, Replica];
  const own = home.grpc.stream("SendStreamingMessage", send(text), { headers: logHeaders() });
  const first = await firstOf(own);
  const elsewhere = away.rest.stream("SubscribeToTask", { id: first.taskId }, { headers: logHeaders() });
  const [here, there]: [SeenFrame[], SeenFrame[]] = [[], []];
  const seen = [here, there];
  const readers = [follow(own, first, here), follow(elsewhere, await firstOf(elsewhere), there)];
  for (const reader of readers) reader.catch(() => undefined);
  return { id: first.taskId, readers, seen };
}

/** Resolves when every reader has seen the entry at the end of the log. */
async function allSee(id: string, seen: readonly SeenFrame[][]): Promise<void> {
  await until("every reader has seen all of it", WITHIN_MS, async () => {
    const last = (await storedLog(redis, id)).at(-1);
    return seen.every((frames) => last !== undefined && formatPosition(frames.at(-1)?.position ?? last) === formatPosition(last));
  });
}

/** Lets the turn do so many steps more; resolves when the log is so long and every reader has seen it. */
async function step({ id, seen }: Begun, steps: number, length: number): Promise<Entry[]> {
  gate.open(steps);
  await until(`the log has ${length} entries`, WITHIN_MS, async () => (await storedLog(redis, id)).length === length);
  await allSee(id, seen);
  return storedLog(redis, id);
}

/** Nobody owns the task. */
async function atRest(id: string): Promise<void> {
  await until("the lease is given back", WITHIN_MS, async () => (await redis.call("ZSCORE", keysOf(id).leases, id)) === null);
}

async function say(replica: Replica, id: string, text: string): Promise<string> {
  const said = message(text, { taskId: id });
  await replica.grpc.unary("SendMessage", { message: said, configuration: { returnImmediately: true } });
  return said["messageId"] as string;
}

/** Both replicas answer with the task that the log tells, and with nothing that it has lost. */
async function assertAnswers(id: string): Promise<TaskRecord> {
  const records = await Promise.all(replicas.map((replica) => recordOf(redis, replica.grpc, id, new Set(given))));
  assertPromises(records, []);
  return records[0] ?? assert.fail();
}

/**
 * A reader has seen entries that are lost now: the next frame after them is a snapshot, every other frame stands in the log, and what the
 * reader has in the end is the task.
 */
function assertTold({ frames }: FollowerRecord, { entries, task }: TaskRecord): void {
  const stands = frames.map(({ position }) => entries.some((entry) => position !== undefined && samePosition(entry, position)));
  const lost = stands.lastIndexOf(false);
  assert.ok(stands.includes(false), "it had seen what is lost");
  const next = frames[lost + 1] ?? assert.fail("it was told nothing after it");
  const shown = frames.map(({ position, response }) => `${response.payload.case} ${position && formatPosition(position)}`);
  assert.equal(next.response.payload.case, "task", `${shown.join(", ")} of ${entries.map(formatPosition).join(", ")}`);
  assert.equal(stands.indexOf(true, stands.indexOf(false)), lost + 1, "nothing of the other history before the snapshot");
  let folded: Task | undefined;
  for (const { response } of frames) folded = apply(folded, response).task;
  const theirs = (one: Task | undefined): Task => ({
    ...(one ?? assert.fail()),
    history: one?.history.filter(({ role }) => role === Role.AGENT) ?? [],
  });
  assert.ok(equals(TaskSchema, theirs(folded), theirs(task)), "what it has in the end is the task");
}

async function untilHeard<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CallFailed) || error.failure.reason !== "STORE_UNAVAILABLE") throw error;
    }
  }
}

const RENEWING = { renewMs: 100 } as const;
/** An owner hears of the loss by what others write only. */
const QUIET = { renewMs: 60_000, leaseMs: 120_000 } as const;

test("a living owner gives back what was lost, as it was; readers on both replicas notice nothing, and the turn goes on", async () => {
  await open(RENEWING);
  const task = await begin("work 6");
  await step(task, 2, 5);
  const rewound = await savepoint(redis);
  const log = await step(task, 2, 7);
  await rewound.restore();
  await until("the log is as it was", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 7);
  assert.deepEqual((await storedLog(redis, task.id)).map(formatPosition), log.map(formatPosition));
  gate.open(2);
  const followers = await Promise.all(task.readers);
  const record = await assertAnswers(task.id);
  assertPromises([record], followers);
  for (const { frames } of followers) assert.equal(frames.filter(({ response }) => response.payload.case === "task").length, 1);
  assert.equal(record.task.artifacts[0]?.parts.length, 6);
});

test("a message that waits for its turn is given back with the rest, and given to a turn once", async () => {
  const [, away] = await open(RENEWING);
  const task = await begin("work 3");
  await step(task, 1, 4);
  const rewound = await savepoint(redis);
  const messageId = await say(away, task.id, "more 0");
  await until("the message stands in the log", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 5);
  await step(task, 1, 6);
  await rewound.restore();
  await until("the log is as it was", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 6);
  gate.open(1);
  const followers = await Promise.all(task.readers);
  const record = await assertAnswers(task.id);
  assertPromises([record], followers);
  assert.equal(given.filter((one) => one === messageId).length, 1);
});

test("where a caller's message stands in the place of what was lost, its owner appends that anew, and readers get a snapshot first", async () => {
  const [, away] = await open(QUIET);
  const task = await begin("work 6");
  await step(task, 2, 5);
  const rewound = await savepoint(redis);
  await step(task, 2, 7);
  await rewound.restore();
  const messageId = await say(away, task.id, "more 0");
  await until("the owner has written its events again", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 8);
  gate.open(2);
  const followers = await Promise.all(task.readers);
  const record = await assertAnswers(task.id);
  for (const follower of followers) assertTold(follower, record);
  assert.deepEqual(
    record.task.artifacts[0]?.parts.map(({ content }) => content.value),
    ["0 ", "1 ", "2 ", "3 ", "4 ", "5 "],
  );
  assert.ok(given.includes(messageId));
  assert.ok(record.entries.every(({ epoch }) => epoch === 1));
});

test("a message in the place of more than its owner can give back is given to a turn all the same", async () => {
  const [, away] = await open({ ...QUIET, healWindowMs: 1 });
  const task = await begin("work 6");
  await step(task, 2, 5);
  const rewound = await savepoint(redis);
  await step(task, 1, 6);
  await step(task, 1, 7);
  await step(task, 1, 8);
  await rewound.restore();
  const messageId = await say(away, task.id, "more 0");
  gate.open(1);
  const followers = await Promise.all(task.readers);
  const record = await assertAnswers(task.id);
  for (const follower of followers) assertTold(follower, record);
  assert.equal(given.filter((one) => one === messageId).length, 1);
  assert.equal(record.task.status?.state, TaskState.COMPLETED);
});

test("a message that waits for its turn and is lost is nobody's any more: the one in its place is given instead, and nothing is left over", async () => {
  const [, away] = await open(QUIET);
  const task = await begin("work 3");
  await step(task, 1, 4);
  const rewound = await savepoint(redis);
  const lostId = await say(away, task.id, "more 0");
  await until("the message stands in the log", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 5);
  await step(task, 1, 6);
  await rewound.restore();
  const messageId = await say(away, task.id, "other 0");
  await until("the owner has written its event again", WITHIN_MS, async () => (await storedLog(redis, task.id)).length === 6);
  gate.open(1);
  await Promise.all(task.readers);
  const record = await assertAnswers(task.id);
  assert.deepEqual([given.includes(lostId), given.includes(messageId)], [false, true]);
  assert.equal(record.task.status?.state, TaskState.COMPLETED);
  const meta = await redis.call("HGET", keysOf(task.id).task(task.id), "co");
  assert.equal(Number(meta), record.entries.findLast(({ kind }) => kind === "command")?.offset);
});

test("a task whose beginning is lost is not found any more: its turn is stopped, its streams end, and nothing of it comes back", async () => {
  await open(RENEWING);
  const rewound = await savepoint(redis);
  const keys = await redis.call("DBSIZE");
  const task = await begin("work 6");
  await step(task, 2, 5);
  const { signal } = await gate.reached;
  await rewound.restore();
  for (const kind of ["pubsub", "normal"]) await redis.call("CLIENT", "KILL", "TYPE", kind);
  if (!signal.aborted) await once(signal, "abort");
  const notFound = (error: unknown): boolean => error instanceof CallFailed && error.failure.reason === "TASK_NOT_FOUND";
  for (const reader of task.readers) await assert.rejects(reader, notFound);
  for (const { grpc } of replicas) {
    await assert.rejects(
      // For a moment after its connection was lost a replica says that the store is away.
      untilHeard(() => grpc.unary("GetTask", { id: task.id })),
      notFound,
    );
  }
  assert.equal(await redis.call("DBSIZE"), keys);
});

for (const connections of ["kept", "lost"] as const) {
  test(`a task at rest that was rewound is what every reader gets, in a snapshot (connections ${connections}), and what GetTask answers`, async () => {
    const [home, away] = await open(RENEWING);
    const task = await begin("ask 2");
    await step(task, 2, 6);
    await atRest(task.id);
    const rewound = await savepoint(redis);
    const lostId = await say(away, task.id, "ask 1");
    await step(task, 1, 11);
    await atRest(task.id);
    await rewound.restore();
    const record = await assertAnswers(task.id);
    assert.equal(record.task.status?.state, TaskState.INPUT_REQUIRED);
    assert.ok(record.task.history.every(({ messageId }) => messageId !== lostId));
    if (connections === "lost") {
      for (const kind of ["pubsub", "normal"]) await redis.call("CLIENT", "KILL", "TYPE", kind);
      await until("readers hear of it", WITHIN_MS, async () =>
        task.seen.every((frames) => frames.at(-1)?.response.payload.case === "task" && frames.at(-1)?.position?.offset === 6),
      );
    }
    await until("the next message is taken", WITHIN_MS, () => say(home, task.id, "more 0"));
    const followers = await Promise.all(task.readers);
    const last = await assertAnswers(task.id);
    assert.equal(last.task.status?.state, TaskState.COMPLETED);
    for (const follower of followers) assertTold(follower, last);
  });
}
