/** A message that comes at the very moment when its task changes hands or ends: 1,000 of them, each answered. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, Turn } from "../../src/core/agent.ts";
import { isInterrupted, stateAfter } from "../../src/core/task.ts";
import { type AgentEvent, inputRequired, type Message, working } from "../../src/index.ts";
import type { TaskRecord } from "../../src/testing/index.ts";
import { message, nextFrame, send } from "../bindings/bed.ts";
import { CallFailed, type Caller, type Stream } from "../bindings/callers/caller.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { assertPromises, idOf, recordOf, Replica } from "./replica.ts";

/** On a busy machine leases this short are lost by themselves too: that is what the test is about, and no reason to end a task. */
const LEASE = { leaseMs: 400, renewMs: 100, sweepMs: 50, maxAttempts: 1000 } as const;
const TOGETHER = 25;
const RACE_MS = 4;

/** What turns were given, by message id. */
const given = new Set<string>();
/** Tasks whose turn waits for its test. */
const gates = new Map<string, PromiseWithResolvers<void>>();

/** Works until its gate opens, then does what the first message says. Any later message is the answer, and ends the task. */
const agent: Agent = {
  card: { name: "racer", description: "", version: "1" },
  resumable: true,
  acceptsMessages: true,
  async *run(turn: Turn): AsyncGenerator<AgentEvent> {
    const [what, gate = ""] = taken(turn.message).split(" ");
    if (what === "answer") return;
    yield working("on it");
    await gates.get(gate)?.promise;
    if (what === "ask") yield inputRequired("well?");
    if (what !== "wait") return;
    const next = await turn.next();
    if (next !== undefined) taken(next);
  },
};

function taken({ messageId, parts }: Message): string {
  given.add(messageId);
  const content = parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

let redis: RedisServer;
let proxy: TcpProxy;
let home: Replica;
let away: Replica;

before(async () => {
  redis = await redisServer();
  proxy = await TcpProxy.open(redis);
  home = await Replica.open(proxy.url, agent, { replica: "home", ...LEASE });
  away = await Replica.open(redis.url, agent, { replica: "away", ...LEASE });
});

after(async () => {
  await Promise.all([home[Symbol.asyncDispose](), away[Symbol.asyncDispose]()]);
  await proxy[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

test("350 messages that race with the end of a turn are given to a turn, or their senders hear that the task has ended", async (t) => {
  const outcomes = await races(350, "end");
  const inTime = outcomes.filter(({ answered }) => answered === "given").length;
  t.diagnostic(`${inTime} given to a turn, ${outcomes.length - inTime} heard that they came too late`);
  assert.ok(inTime > 0 && inTime < outcomes.length);
});

test("350 messages that race with the release of a lease at rest are given to a turn", async (t) => {
  const outcomes = await races(350, "ask");
  assert.ok(outcomes.every(({ answered }) => answered === "given"));
  const inTime = outcomes.filter(({ first }) => first).length;
  t.diagnostic(`${inTime} came before the task asked, ${outcomes.length - inTime} after`);
  assert.ok(inTime > 0 && inTime < outcomes.length);
});

test("300 messages that race with a takeover are given to a turn, those too whose sender did not hear and sent again elsewhere", async (t) => {
  let again = 0;
  for (let round = 0; round < 3; round += 1) {
    const begun = await Promise.all(Array.from({ length: 100 }, () => begin("wait")));
    for (const { open } of begun) open();
    proxy.halfOpen();
    const healed = delay(LEASE.leaseMs * 2).then(() => proxy.heal());
    const outcomes = begun.map(async ({ id }, index) => {
      const followUp = message("answer", { taskId: id });
      if (index % 5 === 0 && (await answer(home.grpc, followUp)) !== "sent") again += 1;
      await delay(Math.random() * LEASE.leaseMs * 2);
      const answered = await answer(away.grpc, followUp);
      const stream = away.grpc.stream("SubscribeToTask", { id });
      await toItsEnd(stream).catch(ended);
      return check(id, followUp, answered);
    });
    assert.ok((await Promise.all(outcomes)).every(({ answered }) => answered === "given"));
    await healed;
    // Those who followed at home see the end there too, once it has Redis back.
    await Promise.all(begun.map(({ stream }) => toItsEnd(stream)));
  }
  t.diagnostic(`${again} sent again elsewhere`);
});

interface Outcome {
  readonly answered: "given" | "refused";
  /** The message was there before the turn had said its last word. */
  readonly first: boolean;
}

test("100 messages that race with a drain are given to a turn of the next owner or of the one that leaves", async () => {
  await using leaving = await Replica.open(redis.url, agent, { replica: "leaving", ...LEASE });
  const begun = await Promise.all(Array.from({ length: 100 }, () => begin("wait", leaving)));
  for (const { open, stream } of begun) {
    open();
    // It ends with the replica.
    toItsEnd(stream).catch(() => undefined);
  }
  const drained = delay(50).then(() => leaving.server.drain({ atOnce: true }));
  const outcomes = begun.map(async ({ id }) => {
    await delay(Math.random() * 100);
    const followUp = message("answer", { taskId: id });
    const answered = await answer(away.grpc, followUp);
    await toItsEnd(away.grpc.stream("SubscribeToTask", { id })).catch(ended);
    return check(id, followUp, answered);
  });
  assert.ok((await Promise.all(outcomes)).every(({ answered }) => answered === "given"));
  await drained;
});

/** Runs so many races, some at a time. Who wins too often gets a handicap: both must win about as often. */
async function races(count: number, what: "end" | "ask"): Promise<Outcome[]> {
  let lagMs = 0;
  const race = async (): Promise<Outcome> => {
    const { id, stream, open } = await begin(what);
    const followUp = message("answer", { taskId: id });
    const [answered] = await Promise.all([
      delay(Math.max(0, -lagMs)).then(() => answer(away.grpc, followUp)),
      delay(Math.max(0, lagMs) + Math.random() * RACE_MS).then(open),
    ]);
    await toItsEnd(stream);
    const outcome = await check(id, followUp, answered);
    lagMs += outcome.first ? -1 : 1;
    return outcome;
  };
  const outcomes: Outcome[] = [];
  while (outcomes.length < count) {
    const next = Math.min(TOGETHER, count - outcomes.length);
    outcomes.push(...(await Promise.all(Array.from({ length: next }, race))));
  }
  return outcomes;
}

interface Begun {
  readonly id: string;
  readonly stream: Stream;
  readonly open: () => void;
}

/** A task at work. */
async function begin(what: string, at: Replica = home): Promise<Begun> {
  const name = randomUUID();
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  const stream = at.grpc.stream("SendStreamingMessage", send(`${what} ${name}`));
  const id = idOf(await nextFrame(stream));
  await nextFrame(stream);
  return { id, stream, open: gate.resolve };
}

/** Sends an answer; `ended` where the task had ended, `unheard` where the store was away. */
async function answer(caller: Caller, followUp: JsonObject): Promise<"sent" | "ended" | "unheard"> {
  try {
    await caller.unary("SendMessage", { message: followUp, configuration: { returnImmediately: true } });
    return "sent";
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    if (error.failure.reason === "UNSUPPORTED_OPERATION") return "ended";
    assert.equal(error.failure.reason, "STORE_UNAVAILABLE");
    return "unheard";
  }
}

async function toItsEnd(stream: Stream): Promise<void> {
  while ((await stream.next()).done !== true);
}

/** A subscription that came after the end is refused. */
function ended(error: unknown): void {
  assert.ok(error instanceof CallFailed && error.failure.reason === "UNSUPPORTED_OPERATION", String(error));
}

/** The task has ended; the message that was taken was given to a turn, the one that was refused is in no log. */
async function check(id: string, followUp: JsonObject, answered: string): Promise<Outcome> {
  const record = await recordOf(redis, away.grpc, id, given);
  assertPromises([record], []);
  const messageId = followUp["messageId"] as string;
  const logged = record.entries.filter((entry) => entry.kind === "command" && entry.command.kind.value?.$typeName === "lf.a2a.v1.Message");
  assert.equal(logged.length, answered === "sent" ? 2 : 1, "in the log once, or not at all");
  assert.equal(given.has(messageId), answered === "sent", `${answered}: ${described(record)}`);
  assert.notEqual(answered, "unheard");
  const asked = record.entries.find((entry) => entry.kind === "event" && isInterruption(entry.event));
  const first = answered === "sent" && (logged.at(-1)?.offset ?? Infinity) < (asked?.offset ?? Infinity);
  return { answered: answered === "sent" ? "given" : "refused", first };
}

/** A log in one line: what, and under which epoch. */
function described({ entries }: TaskRecord): string {
  return entries
    .map((entry) => `${entry.epoch}:${entry.kind === "command" ? `(${entry.command.kind.case})` : (stateAfter(entry.event) ?? "event")}`)
    .join(" ");
}

function isInterruption(event: StreamResponse): boolean {
  const state = stateAfter(event);
  return state !== undefined && isInterrupted(state);
}
