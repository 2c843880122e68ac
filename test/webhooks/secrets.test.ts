/** Secrets of webhooks: where they are kept, with which keys, what becomes of those that no key opens, and that nobody is told. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { inspect } from "node:util";
import type { Log } from "../../src/core/telemetry.ts";
import type { ServeInit } from "../../src/server/serve.ts";
import { failureOf } from "../bindings/bed.ts";
import { allKeys, keysOf, PLACE } from "../storage/store-bed.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { isEnded, shown } from "./shown.ts";
import { openWebhooks, PUSH, type WebhookBed } from "./webhook-bed.ts";

const key = (): string => randomBytes(32).toString("base64");
const TOKEN = "t0ken-that-nobody-is-told";
const CREDENTIALS = "cr3dentials-that-nobody-is-told";
const PATH = "/hook-in-the-path-of-a-s3cret";
const SECRETS = [TOKEN, CREDENTIALS, "s3cret"];
const CONFIG = { token: TOKEN, authentication: { scheme: "Bearer", credentials: CREDENTIALS } };

/** Everything that Redis has, as text. */
async function everythingIn(redis: RedisServer): Promise<string> {
  const dumps = (await allKeys(redis)).map(async (name) => ((await redis.binary("DUMP", name)) as Buffer | null)?.toString("latin1"));
  return (await Promise.all(dumps)).join("\n");
}

/** A log that remembers. */
function remembering(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (facts: object, message: string): void => void lines.push(`${message} ${inspect(facts, { depth: 20, showHidden: true })}`);
  return { lines, info: keep, warn: keep, error: keep };
}

/** A server on one Redis: another one with other keys may go on where it ends. */
async function openOn(redis: RedisServer, keys: readonly string[], more: Partial<ServeInit> = {}): Promise<WebhookBed> {
  return openWebhooks({ ...more, redis: { url: redis.url, ...PLACE }, push: { ...PUSH, ...more.push, keys: [...keys] } });
}

suite("encryption at rest (R-119)", () => {
  test("R-119 with a key nothing of a webhook can be read in the store; without one it can", async () => {
    await using redis = await redisServer({ args: ["--rdbcompression", "no"] });
    {
      await using bed = await openOn(redis, [key()]);
      const taskId = await bed.begin("input", { ...CONFIG, url: bed.receiver.url(PATH) });
      await bed.receiver.until((received) => shown(received).includes("INPUT_REQUIRED"));
      const stored = await everythingIn(redis);
      for (const secret of SECRETS) assert.ok(!stored.includes(secret), secret);
      const { message } = await bed.bed.rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" });
      assert.equal(message["token"], TOKEN, "who may see the task is told");
    }
    await redis.call("FLUSHALL");
    await using plain = await openOn(redis, []);
    await plain.begin("input", { ...CONFIG, url: plain.receiver.url(PATH) });
    assert.ok((await everythingIn(redis)).includes(TOKEN));
  });

  test("R-119 a key is changed without losing a webhook: the new one comes first, the old one stays until nothing needs it", async () => {
    await using redis = await redisServer();
    const [old, fresh] = [key(), key()];
    let taskId = "";
    let url = "";
    {
      await using bed = await openOn(redis, [old]);
      bed.receiver.answer = 503;
      url = bed.receiver.url();
      taskId = await bed.begin("complete", CONFIG);
      await bed.receiver.until(({ length }) => length > 0);
    }
    await using bed = await openOn(redis, [fresh, old]);
    const { message } = await bed.bed.rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" });
    assert.deepEqual([message["url"], message["token"]], [url, TOKEN]);
    // Written again, it needs the new key only.
    await bed.replace(taskId, CONFIG);
    await bed.receiver.until(isEnded);
    assert.equal(bed.receiver.received[0]?.headers.authorization, `Bearer ${CREDENTIALS}`);
    await using last = await openOn(redis, [fresh]);
    const again = await last.bed.rest.unary("GetTaskPushNotificationConfig", { taskId, id: "w" });
    assert.equal(again.message["token"], TOKEN);
  });

  test("R-119 a webhook that no key opens is parked after as many attempts as any other, and says nothing of itself", async () => {
    await using redis = await redisServer();
    let taskId = "";
    {
      await using bed = await openOn(redis, [key()]);
      bed.receiver.answer = 503;
      taskId = await bed.begin("complete", { ...CONFIG, url: bed.receiver.url(PATH) });
      await bed.receiver.until(({ length }) => length > 0);
    }
    const log = remembering();
    await using bed = await openOn(redis, [key()], { log, push: { maxFailures: 3 } });
    const parked = async (): Promise<boolean> => String(await redis.call("HGET", keysOf(taskId).progress(taskId), "w")).startsWith("p ");
    while (!(await parked()));
    for (const caller of bed.bed.callers) {
      for (const [method, request] of [
        ["GetTaskPushNotificationConfig", { taskId, id: "w" }],
        ["ListTaskPushNotificationConfigs", { taskId }],
      ] as const) {
        const failure = await failureOf(caller.unary(method, request));
        assert.deepEqual(
          [failure.reason, failure.metadata["configId"], failure.metadata["taskId"]],
          ["INTERNAL", "w", taskId],
          caller.binding,
        );
        assert.match(failure.message, /^the push configuration cannot be decrypted/);
      }
    }
    const warned = log.lines.filter((line) => line.startsWith("a webhook is parked"));
    assert.equal(warned.length, 1);
    assert.match(warned[0] ?? "", /its configuration cannot be decrypted here; it failed \d+ times in a row/);
    assert.ok(!log.lines.some((line) => line.startsWith("a delivery broke off") || line.startsWith("could not")), log.lines.join("\n"));
    assert.equal(bed.receiver.received.length, 0);
    // What is created anew is read with the key that is there.
    await bed.replace(taskId, CONFIG);
    await bed.receiver.until(isEnded);
    await bed.bed.rest.unary("DeleteTaskPushNotificationConfig", { taskId, id: "w" });
  });

  test("R-119 what was changed in the store, or moved to another task, is not taken for what it was", async () => {
    await using redis = await redisServer();
    const keys = [key()];
    await using bed = await openOn(redis, keys);
    const [one, other] = [await bed.begin("input", CONFIG), await bed.begin("input", CONFIG)];
    const place = (taskId: string): string => keysOf(taskId).pushConfigs(taskId);
    const sealed = (await redis.binary("HGET", place(one), "w")) as Buffer;
    await redis.call("HSET", place(other), "w", sealed);
    const moved = await failureOf(bed.bed.rest.unary("GetTaskPushNotificationConfig", { taskId: other, id: "w" }));
    assert.equal(moved.reason, "INTERNAL");
    const changed = Buffer.from(sealed);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    await redis.call("HSET", place(one), "w", changed);
    assert.equal((await failureOf(bed.bed.rest.unary("GetTaskPushNotificationConfig", { taskId: one, id: "w" }))).reason, "INTERNAL");
  });
});

suite("what nobody is told", () => {
  test("R-119 C-64 no log has tokens, credentials or more of a URL than its host, whatever becomes of a webhook", async () => {
    const log = remembering();
    await using bed = await openWebhooks({ log, push: { maxFailures: 2 } });
    const { receiver } = bed;
    const url = receiver.url(PATH);
    for (const answer of [500, 404, 301, 410, 200]) {
      receiver.answer = answer;
      const { length } = receiver.received;
      const taskId = await bed.begin("complete", { ...CONFIG, url });
      await receiver.until((received) => received.length > length);
      if (answer === 410)
        while (
          await bed.state(taskId).then(
            () => true,
            () => false,
          )
        );
      else await bed.untilState(taskId, answer === 200 ? "done" : "parked");
    }
    const refused = await bed.begin("complete", { ...CONFIG, url: `http://127.0.0.1:1${PATH}` });
    await bed.untilState(refused, "parked");
    assert.ok(log.lines.filter((line) => line.startsWith("a webhook is parked")).length >= 4);
    for (const secret of SECRETS) assert.ok(!log.lines.some((line) => line.includes(secret)), `${secret} in\n${log.lines.join("\n")}`);
  });

  test("C-64 with redact replies leave out tokens and credentials, and receivers get them", async () => {
    await using bed = await openWebhooks({ push: { redact: true } });
    const taskId = await bed.begin("complete", CONFIG);
    await bed.receiver.until(isEnded);
    assert.equal(bed.receiver.received[0]?.headers.authorization, `Bearer ${CREDENTIALS}`);
    for (const caller of bed.bed.callers) {
      const got = await caller.unary("GetTaskPushNotificationConfig", { taskId, id: "w" });
      const listed = await caller.unary("ListTaskPushNotificationConfigs", { taskId });
      for (const secret of [TOKEN, CREDENTIALS]) assert.ok(!JSON.stringify([got.message, listed.message]).includes(secret), caller.binding);
    }
  });
});
