/** Webhooks as receivers see them. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type RunningServer, serve, type ServeInit } from "../../src/server/serve.ts";
import { A2AClient } from "../../src/client/index.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { Receiver } from "./receiver.ts";
import { isEnded, shown } from "./shown.ts";

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

for (const store of ["memory", "Redis"]) {
  const init = async (): Promise<Partial<ServeInit>> => (store === "memory" ? {} : { redis: await fileRedis() });

  suite(`webhooks (${store})`, () => {
    test("R-108 R-109 R-110 R-111 R-113 R-121 C-24 P-41 a webhook that came with a send over gRPC gets the whole turn, in order, each event once", async () => {
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
      assert.equal(client.endpoint?.binding, "GRPC");
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

    test("R-114 C-25 what fails is tried again, the same event, before the next one", async () => {
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

suite("what becomes of a webhook that does not answer as it should", () => {
  test("R-116 P-42 it is parked after so many failures in a row, and GetTaskPushNotificationConfig says so; registered again it goes on", async () => {
    await using bed = await openBed({ push: { ...PUSH, maxFailures: 3 } });
    const { client, receiver, server } = bed;
    receiver.answer = 500;
    const task = await client.send("complete", { configuration: { taskPushNotificationConfig: { id: "w", url: receiver.url() } } });
    await receiver.until(({ length }) => length === 3);
    const taskId = "id" in task ? task.id : "";
    const shownState = async (): Promise<string> => {
      const url = `http://127.0.0.1:${server.ports.http}/tasks/${taskId}/pushNotificationConfigs/w`;
      return (await fetch(url, { headers: { "a2a-version": "1.0" } })).headers.get("throughline-delivery") ?? "";
    };
    while (!(await shownState()).startsWith("state=parked"));
    assert.equal(await shownState(), 'state=parked, acknowledged=0, failures=3, cause="it answered HTTP 500; it failed 3 times in a row"');
    receiver.answer = 200;
    await client.createPushConfig({ taskId, id: "w", url: receiver.url() });
    await receiver.until(isEnded);
    assert.deepEqual(shown(receiver.received.slice(2)), ["SUBMITTED", "SUBMITTED", "WORKING", "forty-two", "COMPLETED"]);
    while (!(await shownState()).startsWith("state=done"));
  });

  for (const [status, what] of [
    [404, "parks it"],
    [301, "parks it: redirects are not followed"],
    [401, "parks it"],
  ] as const) {
    test(`HTTP ${status} ${what}, at once`, async () => {
      await using bed = await openBed();
      const { client, receiver } = bed;
      receiver.answer = (response) => response.writeHead(status, { location: receiver.url("/elsewhere") }).end();
      const task = await client.send("complete", { configuration: { taskPushNotificationConfig: { id: "w", url: receiver.url() } } });
      await receiver.until(({ length }) => length === 1);
      await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url("/other") } } });
      await receiver.until((received) => received.some(({ path }) => path === "/other"));
      assert.equal(receiver.received.filter(({ path }) => path !== "/other").length, 1);
      assert.equal((await client.getPushConfig("id" in task ? task.id : "", "w")).url, receiver.url());
    });
  }

  test("HTTP 410 removes it", async () => {
    await using bed = await openBed();
    const { client, receiver } = bed;
    receiver.answer = 410;
    const task = await client.send("complete", { configuration: { taskPushNotificationConfig: { id: "w", url: receiver.url() } } });
    await receiver.until(({ length }) => length === 1);
    const taskId = "id" in task ? task.id : "";
    while ((await client.listPushConfigs(taskId)).length > 0);
    assert.equal(receiver.received.length, 1);
  });

  test("Retry-After is waited for", async () => {
    await using bed = await openBed();
    const { client, receiver } = bed;
    const times: number[] = [];
    receiver.next.push((response) => {
      times.push(performance.now());
      response.writeHead(503, { "retry-after": "1" }).end();
    });
    await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
    await receiver.until(({ length }) => length === 2);
    assert.ok(performance.now() - (times[0] ?? 0) >= 1000);
    await receiver.until(isEnded);
  });

  test("R-115 SV-16 one that hangs holds up neither the stream of its task nor other webhooks, and is tried again after its time", async () => {
    await using bed = await openBed({ push: { ...PUSH, timeoutMs: 200, perHost: 1 } });
    const { client, receiver } = bed;
    await using other = await Receiver.open();
    receiver.next.push(() => undefined);
    const run = client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
    const task = await run;
    await client.send("complete", { configuration: { taskPushNotificationConfig: { url: other.url() } } });
    await other.until(isEnded);
    assert.equal("id" in task && task.status?.state, TaskState.COMPLETED);
    await receiver.until(isEnded);
    assert.deepEqual(shown(receiver.received), ["SUBMITTED", "SUBMITTED", "WORKING", "forty-two", "COMPLETED"]);
  });
});

suite("what a webhook is told", () => {
  test("R-131 with push.sign a JWT, by the key that the server publishes: whose, for whom, when, which event of which task", async () => {
    const directory = await mkdtemp(join(tmpdir(), "throughline-"));
    const file = join(directory, "key.pem");
    await writeFile(file, generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }));
    try {
      await using bed = await openBed({ push: { ...PUSH, sign: true }, signing: { keys: [file] } });
      const { client, receiver, server } = bed;
      const task = await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
      await receiver.until(isEnded);
      const origin = `http://127.0.0.1:${server.ports.http}`;
      const keys = createRemoteJWKSet(new URL(`${origin}/.well-known/jwks.json`));
      for (const { headers } of receiver.received) {
        const token = String(headers["a2a-notification-jwt"]);
        assert.equal(headers.authorization, `Bearer ${token}`);
        const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: origin, audience: new URL(receiver.url()).origin });
        assert.notEqual(protectedHeader.kid, undefined);
        assert.equal(payload["taskId"], "id" in task ? task.id : "");
        assert.equal(payload.jti, headers["webhook-id"]);
        assert.ok((payload.exp ?? 0) > (payload.iat ?? Infinity));
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("R-112 the scheme of its credentials is taken in any case, and goes out as it was given", async () => {
    await using bed = await openBed();
    const { client, receiver } = bed;
    for (const scheme of ["bEARER", "Basic", "basic"]) {
      receiver.received.length = 0;
      const authentication = { scheme, credentials: "abc=" };
      await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url(), authentication } } });
      await receiver.until(isEnded);
      assert.equal(receiver.received[0]?.headers.authorization, `${scheme} abc=`);
    }
  });

  test("R-122 with events: status artifacts are left out", async () => {
    await using bed = await openBed({ push: { ...PUSH, events: "status" } });
    const { client, receiver } = bed;
    await client.send("complete", { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
    await receiver.until(isEnded);
    assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "COMPLETED"]);
  });

  test("with coalesce chunks that wait together come as one", async () => {
    await using bed = await openBed({ push: { ...PUSH, coalesce: true } });
    const { client, receiver } = bed;
    const hold = Promise.withResolvers<void>();
    receiver.next.push((response) => void hold.promise.then(() => response.writeHead(200).end()));
    const gate = bed.agent.gate();
    gate.open(3);
    await client.send(`chunks ${gate.name}`, { configuration: { taskPushNotificationConfig: { url: receiver.url() } } });
    hold.resolve();
    await receiver.until(isEnded);
    assert.deepEqual(shown(receiver.received), ["SUBMITTED", "WORKING", "one |two ", "WORKING", "three", "COMPLETED"]);
  });
});
