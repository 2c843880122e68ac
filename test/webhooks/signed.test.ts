/** Notifications of this server at the receiver that callers have: signed or not, each once, through failures of the receiver. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AClient, MemoryInbox, type Notification, reconcile } from "../../src/client/index.ts";
import { isTerminal } from "../../src/core/task.ts";
import { OptionsError } from "../../src/server/options.ts";
import { serve } from "../../src/server/serve.ts";
import { openReceiver } from "../client/webhook-bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { isEnded } from "./shown.ts";
import { openWebhooks } from "./webhook-bed.ts";

/** A private key in a file of its own, as an operator has it. */
function keyFile(): { readonly file: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "signing-"));
  const file = join(folder, "key.pem");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }));
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** All that a receiver hands on, up to the terminal one. */
async function untilOver(notifications: AsyncIterable<Notification>): Promise<Notification[]> {
  const got: Notification[] = [];
  for await (const notification of notifications) {
    got.push(notification);
    if (isTerminal(notification.state ?? TaskState.UNSPECIFIED)) break;
  }
  return got;
}

suite("signed notifications (R-121, R-127)", () => {
  test("R-121 each carries a JWT by the first key, which the published keys verify: whose, for whom, when, which event, which body", async () => {
    using key = keyFile();
    await using bed = await openWebhooks({ signing: { keys: [key.file] }, push: { sign: true } });
    const { receiver } = bed;
    const base = `http://127.0.0.1:${bed.bed.server.ports.http}`;
    const taskId = await bed.begin("complete");
    await receiver.until(isEnded);
    const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
    for (const { headers, id } of receiver.received) {
      const token = String(headers["a2a-notification-jwt"]);
      assert.equal(headers.authorization, `Bearer ${token}`, "there are no other credentials");
      const { payload } = await jwtVerify(token, keys, { issuer: base, audience: new URL(receiver.url()).origin });
      assert.deepEqual([payload.jti, payload.sub], [id, taskId]);
      assert.ok((payload.exp ?? 0) > (payload.iat ?? 0));
      assert.equal(decodeProtectedHeader(token).alg, "ES256");
    }
  });

  test("R-111 credentials of the configuration go before it in Authorization", async () => {
    using key = keyFile();
    await using bed = await openWebhooks({ signing: { keys: [key.file] }, push: { sign: true } });
    await bed.begin("complete", { authentication: { scheme: "Basic", credentials: "dTpw" } });
    await bed.receiver.until(isEnded);
    const [first] = bed.receiver.received;
    assert.equal(first?.headers.authorization, "Basic dTpw");
    assert.match(String(first?.headers["a2a-notification-jwt"]), /^ey/);
  });

  test("without the option there is none, and the option wants a key", async () => {
    using key = keyFile();
    await using bed = await openWebhooks({ signing: { keys: [key.file] } });
    await bed.begin("complete");
    await bed.receiver.until(isEnded);
    assert.equal(bed.receiver.received[0]?.headers["a2a-notification-jwt"], undefined);
    assert.equal(bed.receiver.received[0]?.headers.authorization, undefined);
    const wrong = serve({ agent: new ScenarioAgent(), push: { sign: true }, grpcPort: 0, httpPort: 0, opsPort: 0 });
    await assert.rejects(wrong, (error) => error instanceof OptionsError && error.message.startsWith("push.sign: needs signing.keys"));
  });
});

suite("the receiver of callers at this server", () => {
  test("a task that is sent with a webhook is received whole, each event once, and read again", async () => {
    using key = keyFile();
    await using bed = await openWebhooks({ signing: { keys: [key.file] }, push: { sign: true } });
    const url = `http://127.0.0.1:${bed.bed.server.ports.http}`;
    await using client = await A2AClient.connect(url);
    await using caller = await openReceiver({ jwt: { issuer: url } });
    const configuration = { taskPushNotificationConfig: caller.webhook };
    for await (const _ of client.send("complete", { wait: "poll", configuration })) break;
    const got = await untilOver(caller.receiver);
    assert.deepEqual(
      got.map(({ event }) => event.payload.case),
      ["task", "statusUpdate", "artifactUpdate", "statusUpdate"],
    );
    const task = await reconcile(client, got.at(-1) ?? assert.fail());
    assert.equal(task?.status?.state, TaskState.COMPLETED);
    assert.equal(await reconcile(client, { taskId: crypto.randomUUID() }), undefined);
    assert.equal(await reconcile(client, { taskId: "" }), undefined);
  });

  test("events whose acknowledgement was lost come again, and are handed on once; a store that fails is asked again", async () => {
    const memory = new MemoryInbox();
    let calls = 0;
    const inbox = {
      put: async (one: Parameters<MemoryInbox["put"]>[0]) => {
        calls += 1;
        if (calls % 3 === 0) throw new Error("before it is stored");
        const fresh = await memory.put(one);
        if (calls % 4 === 0) throw new Error("after it was stored: the acknowledgement is lost");
        return fresh;
      },
      pending: () => memory.pending(),
      done: (one: Parameters<MemoryInbox["done"]>[0]) => memory.done(one),
      bind: (webhookId: string, taskId: string) => memory.bind(webhookId, taskId),
    };
    await using bed = await openWebhooks();
    await using client = await A2AClient.connect(`http://127.0.0.1:${bed.bed.server.ports.http}`);
    await using caller = await openReceiver({ inbox });
    const gate = bed.agent.gate();
    gate.open(3);
    const configuration = { taskPushNotificationConfig: caller.webhook };
    for await (const _ of client.send(`chunks ${gate.name}`, { wait: "poll", configuration })) break;
    const got = await untilOver(caller.receiver);
    assert.equal(new Set(got.map(({ id }) => id)).size, got.length);
    const offsets = got.map(({ id }) => Number(/\/(\d+)\./.exec(id)?.[1]));
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
      "in order",
    );
    assert.equal(got.length, 7);
    assert.ok(calls > 7);
  });
});
