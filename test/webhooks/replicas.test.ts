/** Webhooks of replicas that crash, stand still and drain, and of a Redis that goes away: in order, with no hole, whoever delivers. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { send, taskOf } from "../bindings/bed.ts";
import { ReplicaProcess } from "../e2e/replica-process.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { keysOf, storedLog } from "../storage/store-bed.ts";
import { endOf, progressOf } from "./acknowledgements.ts";
import { Receiver } from "./receiver.ts";
import { isEnded } from "./shown.ts";

const TICKS = 100;
const PUSH = { "push-enabled": "true", "push-allow": "127.0.0.1", "push-retry-base-ms": 20, "push-retry-max-ms": 200 };
const LEASE = { "lease-ms": 2000, "renew-ms": 500 };
/** A lease that no test outlives: what goes on before its end was handed over. */
const LONG_LEASE = { "lease-ms": 3_600_000, "renew-ms": 5000 };

interface Bed extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly receiver: Receiver;
  replica(name: string, options?: Readonly<Record<string, string | number>>): Promise<ReplicaProcess>;
  /** Sends a task with a webhook to a replica; answers its id when the first events have come. */
  begin(replica: ReplicaProcess): Promise<string>;
  /** Waits for the end of the task at its webhook, and checks that everything has come in order. */
  finish(taskId: string): Promise<number>;
}

async function openBed(): Promise<Bed> {
  await using opened = new AsyncDisposableStack();
  const redis = opened.use(await redisServer({ appendonly: "always" }));
  const receiver = opened.use(await Receiver.open());
  const replicas: ReplicaProcess[] = [];
  opened.defer(async () => void (await Promise.all(replicas.map((one) => one[Symbol.asyncDispose]()))));
  const stack = opened.move();
  return {
    redis,
    receiver,
    async replica(name, options = LEASE) {
      const started = await ReplicaProcess.start(redis.url, name, { ...PUSH, ...options });
      replicas.push(started);
      return started;
    },
    async begin(replica) {
      const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: "w", url: receiver.url() } };
      const { id } = taskOf(await replica.rest.unary("SendMessage", send(`ticks ${TICKS} 20`, { configuration })));
      await receiver.until(({ length }) => length >= 5);
      return id;
    },
    async finish(taskId) {
      await receiver.until(isEnded);
      const entries = await storedLog(redis, taskId);
      const { acknowledged, repeats, wrong } = progressOf(receiver.received, entries);
      assert.deepEqual(wrong, []);
      assert.equal(acknowledged, endOf(entries));
      return repeats;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Lets the receiver hold its answers: resolves when it holds one. `letGo` sends them, and those to come. */
async function held(receiver: Receiver): Promise<{ readonly letGo: () => void }> {
  const holds = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  receiver.answer = (response) => {
    holds.resolve();
    void open.promise.then(() => response.writeHead(200).end());
  };
  await holds.promise;
  const letGo = (): void => {
    receiver.answer = 200;
    open.resolve();
  };
  return { letGo };
}

const stored = async ({ redis }: Bed, taskId: string): Promise<string> =>
  String(await redis.call("HGET", keysOf(taskId).progress(taskId), "w"));

test("a replica that is killed in the middle of a request is followed by another one, from where the webhook stands", async () => {
  await using bed = await openBed();
  const one = await bed.replica("one");
  const taskId = await bed.begin(one);
  const request = await held(bed.receiver);
  await bed.replica("other");
  one.signal("SIGKILL");
  await one.server.process.exited;
  request.letGo();
  assert.ok((await bed.finish(taskId)) <= 1, "only what was under way came twice");
});

test("a replica that drains hands its webhooks over at once, what is under way included", async () => {
  await using bed = await openBed();
  const one = await bed.replica("one", LONG_LEASE);
  const taskId = await bed.begin(one);
  const request = await held(bed.receiver);
  await bed.replica("other", LONG_LEASE);
  one.signal("SIGTERM");
  request.letGo();
  await one.server.process.exited;
  assert.equal(await bed.finish(taskId), 0, "nothing came twice");
});

test("what a replica says that stood still beyond its claim changes nothing, and it sends nothing more", async () => {
  await using bed = await openBed();
  const one = await bed.replica("one");
  const taskId = await bed.begin(one);
  const request = await held(bed.receiver);
  await bed.replica("other");
  one.signal("SIGSTOP");
  request.letGo();
  assert.ok((await bed.finish(taskId)) <= 1, "what was under way may have come twice");
  const ended = await stored(bed, taskId);
  assert.match(ended, /^d /);
  const { length } = bed.receiver.received;
  one.signal("SIGCONT");
  // Whoever answers a call has looked at what it holds before, or does so within the time of a renewal.
  await one.rest.unary("GetTask", { id: taskId });
  await drained(one);
  assert.equal(await stored(bed, taskId), ended);
  assert.equal(bed.receiver.received.length, length);
});

test("deliveries go on when Redis is back, with nothing left out", async () => {
  await using bed = await openBed();
  const one = await bed.replica("one");
  await bed.replica("other");
  const taskId = await bed.begin(one);
  await bed.redis.kill();
  await bed.redis.start();
  await bed.finish(taskId);
});

test("with every one of them at once and again: kills, pauses and a Redis that restarts", async (t: TestContext) => {
  await using bed = await openBed();
  const replicas = [await bed.replica("a"), await bed.replica("b"), await bed.replica("c")];
  const [first, second] = replicas as [ReplicaProcess, ReplicaProcess];
  let fails = 0;
  bed.receiver.answer = (response) => {
    fails += 1;
    if (fails % 7 === 0) response.destroy();
    else response.writeHead(fails % 5 === 0 ? 503 : 200).end();
  };
  const taskId = await bed.begin(first);
  first.signal("SIGKILL");
  second.signal("SIGSTOP");
  await bed.receiver.until(({ length }) => length >= 20);
  await bed.redis.kill();
  await bed.redis.start();
  second.signal("SIGCONT");
  await bed.replica("d");
  const repeats = await bed.finish(taskId);
  t.diagnostic(`${bed.receiver.received.length} requests, ${repeats} of them for what was acknowledged`);
});

async function drained(replica: ReplicaProcess): Promise<void> {
  replica.signal("SIGTERM");
  await replica.server.process.exited;
}
