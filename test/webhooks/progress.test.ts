/** How far webhooks are: what is told of it, and what becomes of those that fall too far behind or lose their place. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Agent } from "../../src/core/agent.ts";
import { artifact, completed, textPart, working } from "../../src/core/events.ts";
import { serve, type ServeInit } from "../../src/server/serve.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { Gate } from "../bindings/scenario-agent.ts";
import { Replica, recordOf } from "../e2e/replica.ts";
import { send, taskOf } from "../bindings/bed.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { redisServer } from "../redis/redis-server.ts";
import { savepoint } from "../redis/savepoint.ts";
import { until } from "../redis/until.ts";
import { storedLog } from "../storage/store-bed.ts";
import { endOf, progressOf } from "./acknowledgements.ts";
import { Receiver } from "./receiver.ts";
import { isEnded, shown } from "./shown.ts";
import { openWebhooks, PUSH } from "./webhook-bed.ts";

const WITHIN_MS = 60_000;

test("every surface says how far a webhook is", async () => {
  await using bed = await openWebhooks({ push: { maxFailures: 2 } });
  const { receiver } = bed;
  receiver.answer = 500;
  const taskId = await bed.begin("complete");
  await bed.untilState(taskId, "parked");
  const said = async (): Promise<Set<unknown>> => {
    const replies = bed.bed.callers.map((caller) => caller.unary("GetTaskPushNotificationConfig", { taskId, id: "w" }));
    return new Set((await Promise.all(replies)).map(({ headers }) => headers.get("throughline-delivery")));
  };
  const parked = 'state=parked, acknowledged=0, failures=2, cause="it answered HTTP 500; it failed 2 times in a row"';
  assert.deepEqual(await said(), new Set([parked]));
  receiver.answer = 200;
  await bed.replace(taskId, {});
  await bed.untilState(taskId, "done");
  assert.deepEqual(await said(), new Set(["state=done, acknowledged=5, failures=0"]));
});

test("one that waits says why, and for how long", async () => {
  await using bed = await openWebhooks({ push: { retryBaseMs: 600_000, retryMaxMs: 600_000 } });
  bed.receiver.answer = 503;
  const taskId = await bed.begin("complete");
  while (!(await bed.state(taskId)).includes("failures=1"));
  assert.match(await bed.state(taskId), /^state=active, acknowledged=0, failures=1, retry-in=\d{3}, cause="it answered HTTP 503"$/);
});

/** Chunks of a kilobyte, as many as the text says, behind a gate each hundred. */
function flood(gate: Gate): Agent {
  return {
    card: { name: "flood", description: "", version: "1" },
    async *run(turn) {
      const content = turn.message.parts[0]?.content;
      const count = Number(content?.case === "text" ? content.value : 0);
      yield working("on it");
      for (let at = 0; at < count; at += 1) {
        if (at % 100 === 0 && !(await gate.pass(turn))) return;
        yield artifact({ artifactId: "a", parts: [textPart(`${at} ${"x".repeat(1000)}`)] }, { append: at > 0 });
      }
      yield completed("done");
    },
  };
}

async function openAlone(agent: Agent, init: Partial<ServeInit>): Promise<{ readonly rest: RestCaller } & AsyncDisposable> {
  const quiet = { grpcPort: 0, httpPort: 0, opsPort: 0, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };
  const server = await serve({ ...quiet, ...init, agent });
  const rest = new RestCaller(server.ports.http);
  return {
    rest,
    async [Symbol.asyncDispose]() {
      rest.close();
      await server.drain({ atOnce: true, skip: AbortSignal.abort() });
    },
  };
}

for (const store of ["memory", "Redis"]) {
  const init = async (): Promise<Partial<ServeInit>> => (store === "memory" ? {} : { redis: await fileRedis() });

  suite(`webhooks that lag (${store})`, () => {
    test("R-116 one that is more than webhookLagBytes behind is parked; registered again it gets the task as it is, and what follows", async () => {
      const gate = new Gate("gate");
      await using receiver = await Receiver.open();
      const more = { ...(await init()), push: PUSH, webhookLagBytes: 50_000, windowEntries: 10, windowBytes: 10_000 };
      await using replica = await openAlone(flood(gate), more);
      const { rest } = replica;
      const hold = Promise.withResolvers<void>();
      receiver.next.push((response) => void hold.promise.then(() => response.writeHead(200).end()));
      const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: "w", url: receiver.url() } };
      const { id: taskId } = taskOf(await rest.unary("SendMessage", send("2010", { configuration })));
      const state = async (): Promise<string> =>
        (await rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" })).headers.get("throughline-delivery") ?? "";
      gate.open(20);
      const parts = async (): Promise<number> => {
        const { message } = await rest.unary("GetTask", { id: taskId });
        return (message["artifacts"] as { parts: unknown[] }[] | undefined)?.[0]?.parts.length ?? 0;
      };
      while ((await parts()) < 2000);
      hold.resolve();
      while (!(await state()).startsWith("state=parked"));
      assert.match(await state(), /cause="it is too far behind its task"$/);
      const { length } = receiver.received;
      await rest.unary("CreateTaskPushNotificationConfig", { taskId, id: "w", url: receiver.url() });
      await receiver.until((received) => received.length > length);
      gate.open();
      await receiver.until(isEnded);
      const [first] = receiver.received.slice(length);
      assert.equal(first?.event.payload.case, "task");
      const had = first?.event.payload.case === "task" ? (first.event.payload.value.artifacts[0]?.parts.length ?? 0) : 0;
      const chunks = shown(receiver.received.slice(length + 1)).filter((text) => /^\d/.test(text));
      assert.deepEqual(
        chunks.map((text) => Number(text.split(" ")[0])),
        Array.from({ length: 2010 - had }, (_, at) => had + at),
      );
    });

    test("R-122 one that wants changes of status only does not lag by what it does not want, whoever delivers", async () => {
      const gate = new Gate("gate");
      await using receiver = await Receiver.open();
      const more = {
        ...(await init()),
        push: { ...PUSH, events: "status" as const },
        webhookLagBytes: 400_000,
        windowEntries: 10,
        windowBytes: 10_000,
      };
      await using replica = await openAlone(flood(gate), more);
      const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: "w", url: receiver.url() } };
      const { id: taskId } = taskOf(await replica.rest.unary("SendMessage", send("3000", { configuration })));
      const acknowledged = async (): Promise<number> => {
        const { headers } = await replica.rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" });
        return Number(/acknowledged=(\d+)/.exec(headers.get("throughline-delivery") ?? "")?.[1]);
      };
      for (let step = 1; step < 30; step += 1) {
        gate.open();
        while ((await acknowledged()) < (step - 3) * 100);
      }
      gate.open();
      await receiver.until(isEnded);
      assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "COMPLETED"]);
    });
  });
}

test("C-35 where a failover has lost entries that a webhook had, it gets the task in mid-stream, and then what follows", async () => {
  await using redis = await redisServer();
  await using receiver = await Receiver.open();
  const gate = new Gate("gate");
  const agent: Agent = {
    card: { name: "lossy", description: "", version: "1" },
    async *run(turn) {
      yield working("on it");
      for (let at = 0; at < 6; at += 1) {
        if (!(await gate.pass(turn))) return;
        yield artifact({ artifactId: "a", parts: [textPart(`${at}`)] }, { append: at > 0 });
      }
      yield completed("done");
    },
  };
  // Its owner has nothing to give back: what is lost is lost.
  await using replica = await Replica.open(redis.url, agent, {
    replica: "lossy",
    push: PUSH,
    healWindowMs: 0,
    renewMs: 60_000,
    leaseMs: 120_000,
  });
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: "w", url: receiver.url() } };
  const { id } = taskOf(await replica.rest.unary("SendMessage", send("go", { configuration })));
  const chunk = async (count: number): Promise<void> => {
    gate.open();
    await receiver.until((received) => shown(received).filter((text) => /^\d/.test(text)).length === count);
    await until("it is stored as acknowledged", WITHIN_MS, async () => {
      const { headers } = await replica.rest.unary("GetTaskPushNotificationConfig", { taskId: id, id: "w" });
      return headers.get("throughline-delivery")?.includes(`acknowledged=${(await storedLog(redis, id)).at(-1)?.offset},`);
    });
  };
  await chunk(1);
  const rewound = await savepoint(redis);
  await chunk(2);
  await chunk(3);
  await rewound.restore();
  gate.open(3);
  await receiver.until(isEnded);
  const entries = await storedLog(redis, id);
  const lost = receiver.received.filter(({ id: event }) => !entries.some(({ offset, mark }) => event.endsWith(`/${offset}.${mark}`)));
  const after = receiver.received.slice(receiver.received.indexOf(lost.at(-1) ?? assert.fail("something was lost")) + 1);
  assert.equal(after[0]?.event.payload.case, "task", "the task stands for what it cannot know any more");
  const { task } = await recordOf(redis, replica.rest, id);
  assert.deepEqual(shown(after).at(-1), "COMPLETED");
  const [snapshot] = after;
  const begun = snapshot?.event.payload.case === "task" ? (snapshot.event.payload.value.artifacts[0]?.parts.length ?? 0) : 0;
  const chunks = shown(after).filter((text) => /^\d/.test(text));
  assert.equal(begun + chunks.length, task.artifacts[0]?.parts.length, "with what follows it is the whole task");
});

test("where an entry counts as stored when a replica of Redis has it, webhooks get it then", async () => {
  await using redis = await redisServer({ appendonly: "always" });
  await using follower = await redisServer({ args: ["--replicaof", "127.0.0.1", `${redis.port}`] });
  await until("the replica confirms", WITHIN_MS, async () => {
    await redis.call("SET", "written", "1");
    return (await redis.call("WAIT", 1, 1000)) === 1;
  });
  await using receiver = await Receiver.open();
  const gate = new Gate("gate");
  const options = { url: redis.url, durability: "replicated" as const, replicas: 1 };
  await using replica = await Replica.open(redis.url, flood(gate), { replica: "replicated", push: PUSH, redis: options });
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: "w", url: receiver.url() } };
  const { id } = taskOf(await replica.rest.unary("SendMessage", send("200", { configuration })));
  gate.open();
  await receiver.until((received) => received.length > 20);
  // Nobody confirms: nothing new may be told.
  follower.pause();
  gate.open();
  const { length } = await storedLog(redis, id);
  await until("entries wait for their confirmation", WITHIN_MS, async () => (await storedLog(redis, id)).length >= Math.min(length, 150));
  follower.resume();
  await receiver.until(isEnded);
  const entries = await storedLog(redis, id);
  const { acknowledged, wrong } = progressOf(receiver.received, entries);
  assert.deepEqual([wrong, acknowledged], [[], endOf(entries)]);
});
