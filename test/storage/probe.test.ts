/** The probe of quiet tasks: what Redis answers it harms nobody, and it goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Connections } from "../../src/storage/redis/connection/connections.ts";
import { RedisContext } from "../../src/storage/redis/context.ts";
import { ShardKeys } from "../../src/storage/redis/keys.ts";
import { RedisTail } from "../../src/storage/redis/redis-tail.ts";
import { REDIS_DEFAULTS } from "../../src/storage/redis/storage-options.ts";
import { Tailer } from "../../src/storage/redis/tailer.ts";
import { TaskLog } from "../../src/storage/redis/task-log.ts";
import { Visibility } from "../../src/storage/redis/visibility.ts";
import { chunk, type LabTask } from "../../src/testing/contract/lab.ts";
import { type RedisServer, redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { keysOf, openLab, PLACE } from "./store-bed.ts";

const WITHIN_MS = 20_000;
const TIMES = { quietMs: 20, probeMs: 10 };

/** A tailer that hears nothing: only its probe tells it of new entries. */
interface Deaf extends AsyncDisposable {
  readonly warnings: readonly string[];
  /** Resolves with its tail when the task is followed. */
  tail(task: LabTask): Promise<RedisTail>;
}

async function openDeaf({ url }: RedisServer): Promise<Deaf> {
  const options = { ...REDIS_DEFAULTS, url, ...PLACE };
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const shardTag = (shard: number): string => new ShardKeys(PLACE.prefix, shard).tag;
  const connections = await Connections.open(options, { agent: "test", shardTag, warn });
  const context = new RedisContext(options, connections, warn);
  const log = new TaskLog(context, new Visibility(context));
  const tailer = new Tailer(context, log, TIMES);
  return {
    warnings,
    async tail({ id, position }) {
      const { shard } = keysOf(id);
      await tailer.attach(id, shard).ready;
      return new RedisTail({ log, tailer }, { id, shard }, position, AbortSignal.timeout(20_000));
    },
    async [Symbol.asyncDispose]() {
      tailer.close();
      await connections.close();
    },
  };
}

const FAULTS: Readonly<Record<string, (server: RedisServer, task: LabTask) => Promise<() => Promise<unknown>>>> = {
  async "a right that is missing for a while"(server) {
    await server.call("ACL", "SETUSER", "default", "-hmget");
    return () => server.call("ACL", "SETUSER", "default", "allcommands");
  },
  async "a record of the wrong type"(server, { id }) {
    const record = keysOf(id).task(id);
    // In one step: a record that is missing would be a task that is gone.
    await server.call("EVAL", "redis.call('RENAME', KEYS[1], KEYS[2]) redis.call('SET', KEYS[1], 'x')", 2, record, `${record}:kept`);
    return () => server.call("RENAME", `${record}:kept`, record);
  },
};

for (const [what, begin] of Object.entries(FAULTS)) {
  test(`${what}: probes warn, end no process, and find what was appended once it is over`, async () => {
    await using server = await redisServer();
    await using lab = await openLab(server.url);
    await using deaf = await openDeaf(server);
    const task = await lab.owned();
    const tail = await deaf.tail(task);
    const waiting = tail.next();
    const end = await begin(server, task);
    await until("probes have warned", WITHIN_MS, async () => deaf.warnings.length >= 3);
    for (const warning of deaf.warnings) assert.match(warning, /^redis: cannot ask where logs end: /);
    await end();
    const [appended] = await task.append([chunk()]);
    const step = await waiting;
    assert.ok(step.done !== true && step.value.is === "entries");
    assert.deepEqual(
      step.value.entries.map(({ mark }) => mark),
      [appended?.mark],
    );
    await tail.return();
  });
}
