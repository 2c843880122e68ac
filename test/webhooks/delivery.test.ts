/** Webhooks as receivers see them. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { A2AClient } from "../../src/client/index.ts";
import { stateAfter } from "../../src/core/task.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { type Received, Receiver } from "./receiver.ts";

const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainDelayMs: 0, streamGraceMs: 0, drainMs: 0 };
const PUSH = { enabled: true, allow: ["127.0.0.1"], retryBaseMs: 5, retryMaxMs: 20 };

interface Bed extends AsyncDisposable {
  readonly agent: ScenarioAgent;
  readonly server: RunningServer;
  readonly client: A2AClient;
  readonly receiver: Receiver;
}

async function openBed(init: Partial<ServeInit> = {}, agent = new ScenarioAgent()): Promise<Bed> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await Receiver.open());
  const server = await serve({ ...QUIET, ...init, push: { ...PUSH, ...init.push }, agent });
  stack.defer(() => server.drain({ atOnce: true, skip: AbortSignal.abort() }));
  const client = stack.use(await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`));
  const owned = stack.move();
  return { agent, server, client, receiver, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What came, as one reads it. */
function shown(received: readonly Received[]): string[] {
  return received.map(({ event: { payload } }) => {
    if (payload.case === "artifactUpdate") return payload.value.artifact?.parts.map(({ content }) => String(content.value)).join("|") ?? "";
    const status = payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
    return Object.entries(TaskState).find(([, value]) => value === status?.state)?.[0] ?? "no state";
  });
}

const ended = (received: readonly Received[]): boolean => stateAfter(received.at(-1)?.event ?? assert.fail()) === TaskState.COMPLETED;
const isEnded = (received: readonly Received[]): boolean => received.length > 0 && ended(received);

for (const store of ["memory", "Redis"]) {
  const init = async (): Promise<Partial<ServeInit>> => (store === "memory" ? {} : { redis: await fileRedis() });

  suite(`webhooks (${store})`, () => {
    test("R-108 R-110 R-111 R-113 a webhook that came with the send gets the whole turn, in order, each event once", async () => {
      await using bed = await openBed(await init());
      const { client, receiver } = bed;
      const gate = bed.agent.gate();
      gate.open(3);
      const taskPushNotificationConfig = {
        url: receiver.url(),
        token: "t-1",
        authentication: { scheme: "Bearer", credentials: "secret" },
      };
      await client.send(`chunks ${gate.name}`, { configuration: { taskPushNotificationConfig } });
      await receiver.until(isEnded);
      assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "one ", "two ", "WORKING", "three", "COMPLETED"]);
      const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
      assert.equal(new Set(ids).size, 7);
      for (const { headers, body } of receiver.received) {
        assert.equal(headers["content-type"], "application/a2a+json");
        assert.equal(headers.authorization, "Bearer secret");
        assert.equal(headers["x-a2a-notification-token"], "t-1");
        assert.equal(headers["a2a-notification-token"], "t-1");
        assert.match(String(headers["webhook-timestamp"]), /^\d{10}$/);
        assert.equal(Object.keys(JSON.parse(body) as object).length, 1, "exactly one member");
      }
    });

    test("R-114 what fails is tried again, the same event, before the next one", async () => {
      await using bed = await openBed(await init());
      const { client, receiver } = bed;
      receiver.next.push(200, 503, 429, (response) => response.destroy());
      await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
      await receiver.until(isEnded);
      assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "WORKING", "WORKING", "WORKING", "forty-two", "COMPLETED"]);
      const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
      assert.equal(new Set(ids).size, 4);
    });

    test("R-107 a webhook that is registered later gets what comes after", async () => {
      await using bed = await openBed(await init());
      const { client, receiver } = bed;
      const gate = bed.agent.gate();
      const run = client.send(`slow ${gate.name}`);
      for await (const { event } of run) if (event.case === "statusUpdate") break;
      await client.createPushConfig({ taskId: run.task?.id ?? "", url: receiver.url() });
      gate.open();
      await receiver.until(isEnded);
      assert.deepEqual(shown(receiver.received), ["COMPLETED"]);
    });

    test("a task that was quiet for long is picked up again when something comes", async () => {
      await using bed = await openBed(await init());
      const { client, receiver } = bed;
      const task = await client.send("input", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
      await receiver.until((received) => shown(received).at(-1) === "INPUT_REQUIRED");
      await client.send("complete", { taskId: "id" in task ? task.id : "" });
      await receiver.until(isEnded);
      assert.deepEqual(shown(receiver.received), ["SUBMITTED", "INPUT_REQUIRED", "WORKING", "forty-two", "COMPLETED"]);
    });

    test("R-103 after a deletion at most the request under way arrives", async () => {
      await using bed = await openBed(await init());
      const { client, receiver } = bed;
      const gate = bed.agent.gate();
      const run = client.send(`chunks ${gate.name}`, { configuration: { taskPushNotificationConfig: { id: "w", url: receiver.url() } } });
      await receiver.until((received) => shown(received).at(-1) === "one ");
      await client.deletePushConfig(run.task?.id ?? "", "w");
      gate.open(3);
      await run;
      assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "one "]);
    });
  });
}
