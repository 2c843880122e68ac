/** Writes that wait for a confirmation while their master is replaced by one that does not have them (durability replicated). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskError } from "../../src/core/errors.ts";
import type { Reply } from "../../src/storage/redis/connection/reply.ts";
import { chunk, type Lab } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { savepoint } from "../redis/savepoint.ts";
import { TcpProxy } from "../redis/tcp-proxy.ts";
import { until } from "../redis/until.ts";
import { keysOf, openLab, storedLog } from "./store-bed.ts";

/** A write that went with its master, as its writer hears of it: it may or may not have been carried out. */
function unknown(error: unknown): boolean {
  return error instanceof TaskError && error.reason === "STORE_UNAVAILABLE" && error.outcomeUnknown;
}

/** One master that stands for both: the new one has what it had at the savepoint. */
class Bed implements AsyncDisposable {
  readonly server: RedisServer;
  readonly lab: Lab;
  readonly #replica: RedisServer;
  readonly #proxy: TcpProxy;
  readonly #owned: AsyncDisposableStack;

  private constructor(server: RedisServer, replica: RedisServer, proxy: TcpProxy, lab: Lab, owned: AsyncDisposableStack) {
    this.server = server;
    this.lab = lab;
    this.#replica = replica;
    this.#proxy = proxy;
    this.#owned = owned;
  }

  static async open(commandTimeoutMs = 5000): Promise<Bed> {
    await using opened = new AsyncDisposableStack();
    const server = opened.use(await redisServer({ args: ["--repl-diskless-sync-delay", "0"] }));
    const replica = opened.use(await redisServer({ args: ["--replicaof", "127.0.0.1", `${server.port}`] }));
    await until("the replica confirms", 10_000, async () => {
      await server.call("SET", "probe", "");
      return (await server.call("WAIT", 1, 100)) === 1;
    });
    const proxy = opened.use(await TcpProxy.open(server));
    const lab = opened.use(await openLab(proxy.url, { durability: "replicated", commandTimeoutMs }));
    return new Bed(server, replica, proxy, lab, opened.move());
  }

  /** Resolves with what becomes of a write that the old master has and the new one has not, unless it `keeps` it. `grows`: the log that it goes into. */
  async replaceDuring<T>(grows: string, write: () => Promise<T>, { keeps = false } = {}): Promise<T> {
    const before = await savepoint(this.server);
    const { length } = await storedLog(this.server, grows);
    this.#replica.pause();
    const written = write();
    written.catch(() => undefined);
    await until("it is written", 20_000, async () => Number((await this.server.call("XLEN", keysOf(grows).log(grows))) as Reply) > length);
    if (!keeps) await before.restore();
    this.#proxy.cut();
    this.#replica.resume();
    return written;
  }

  /** Runs a step while no replica confirms anything. */
  async alone(step: () => Promise<void>): Promise<void> {
    this.#replica.pause();
    try {
      await step();
    } finally {
      this.#replica.resume();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

test("SV-01 a task, entries and a message that their master took with it are not taken for stored, and are stored when they are repeated", async () => {
  await using bed = await Bed.open();
  const { lab, server } = bed;
  const creation = lab.creation();
  await assert.rejects(
    bed.replaceDuring(creation.id, () => lab.storage.create(creation)),
    unknown,
  );
  assert.equal((await lab.storage.create(creation)).is, "created");
  assert.equal((await storedLog(server, creation.id)).length, 2);

  const task = await lab.owned();
  const batch = task.batch([chunk("lost")]);
  await assert.rejects(
    bed.replaceDuring(task.id, () => lab.storage.append(task.lease, batch)),
    unknown,
  );
  assert.equal((await lab.storage.append(task.lease, batch))[0]?.offset, 3);
  await task.look();

  const message = task.commandRequest("message");
  await assert.rejects(
    bed.replaceDuring(task.id, () => lab.storage.command(message)),
    unknown,
  );
  assert.equal((await lab.storage.command(message)).is, "appended");
  assert.deepEqual((await storedLog(server, task.id)).map(({ mark }) => mark).slice(2), [batch.entries[0]?.mark, message.entry.mark]);
});

test("a write whose connection was lost is confirmed on another, where the master still has it", async () => {
  await using bed = await Bed.open();
  const { lab, server } = bed;
  const task = await lab.owned();
  const batch = task.batch([chunk("kept")]);
  const appended = await bed.replaceDuring(task.id, () => lab.storage.append(task.lease, batch), { keeps: true });
  assert.equal(appended[0]?.offset, 3);
  assert.deepEqual(await lab.storage.append(task.lease, batch), appended);
  assert.equal((await storedLog(server, task.id)).length, 3);
});

test("R-103 the deletion of a push config that no replica confirms is not acknowledged, however often it is asked for", async () => {
  await using bed = await Bed.open(300);
  const { storage } = bed.lab;
  const { id } = await bed.lab.owned();
  const config = { id: "hook", bytes: Uint8Array.of(1), most: 1 };
  await storage.setPushConfig(id, config);
  const away = (error: unknown): boolean => error instanceof TaskError && error.reason === "STORE_UNAVAILABLE";
  await bed.alone(async () => {
    await assert.rejects(storage.deletePushConfig(id, "hook"), away);
    await assert.rejects(storage.deletePushConfig(id, "hook"), away);
    await assert.rejects(storage.setPushConfig(id, config), away);
  });
  await until("the replica confirms again", 20_000, async () => storage.deletePushConfig(id, "hook").then(() => true));
  assert.deepEqual(await storage.pushConfigs(id), []);
});
