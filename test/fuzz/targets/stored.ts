/** What is stored in Redis, changed and cut by somebody else. */
import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { CallFailed } from "../../bindings/callers/caller.ts";
import { redisServer } from "../../redis/redis-server.ts";
import type { Random } from "../random.ts";
import { Served, sendOf } from "../served.ts";
import type { Target } from "../target.ts";

/** A server without what it remembers: each call reads what is stored. */
const FORGETFUL = { cacheBytes: 1, sweepMs: 50, leaseMs: 2000, renewMs: 500, healWindowMs: 0, replyTimeoutMs: 1000, cancelGraceMs: 50 };
/** Everything is thrown away after so many inputs: what is broken is not mended. */
const FRESH_EVERY = 100;
/** What a call may wait for something that will not come. */
const WAIT_MS = 2000;

async function spoil(redis: Redis, key: string, random: Random): Promise<void> {
  switch (await redis.type(key)) {
    case "string":
      return void (await redis.set(key, random.mutated((await redis.getBuffer(key)) ?? Buffer.alloc(0)), "KEEPTTL"));
    case "hash": {
      const field: string = random.pick(await redis.hkeys(key));
      if (random.chance(0.2)) return void (await redis.hdel(key, field));
      return void (await redis.hset(key, field, random.mutated((await redis.hgetBuffer(key, field)) ?? Buffer.alloc(0))));
    }
    case "zset": {
      const [member = ""] = await redis.zrange(key, "0", "0");
      return void (await redis.call("ZADD", key, random.pick(["0", "1", "-1", "4503599627370496"]), random.mutated(Buffer.from(member))));
    }
    case "stream": {
      const entries = await redis.xrangeBuffer(key, "-", "+");
      const at = random.below(entries.length);
      await redis.del(key);
      for (const [index, [id, fields]] of entries.entries()) {
        if (index === at && random.chance(0.2)) continue;
        const kept = fields.map((field, place) => (index === at && place % 2 === 1 && random.chance(0.7) ? random.mutated(field) : field));
        await redis.call("XADD", key, id.toString(), ...kept);
      }
      return undefined;
    }
    default:
      return void (await redis.set(key, random.bytes(10)));
  }
}

/** Whatever stands there, calls are answered, if only by an error, and the replica goes on. */
export const stored: Target = {
  name: "stored",
  async open() {
    const server = await redisServer();
    const redis = new Redis(server.url);
    let served = await Served.open({ ...FORGETFUL, redis: { url: server.url, shards: 2 } });
    let count = 0;
    const fresh = async (): Promise<void> => {
      await served[Symbol.asyncDispose]();
      await redis.flushall();
      served = await Served.open({ ...FORGETFUL, redis: { url: server.url, shards: 2 } });
    };
    /** Failures are answers here, and so is nothing for a while: a turn may have lost what it needs. */
    const settle = async (call: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
      const signal = AbortSignal.timeout(WAIT_MS);
      await call(signal).catch((error: unknown) => assert.ok(error instanceof CallFailed || signal.aborted, String(error)));
    };
    return {
      async input(random) {
        count += 1;
        if (count % FRESH_EVERY === 0) await fresh();
        const id = await served.send(random.pick(["input", "complete"]));
        const keys = (await redis.keys("*"))
          .filter((key) => key.includes(id) || random.chance(0.02))
          .filter((key) => !key.endsWith(":config"));
        for (let times = 1 + random.below(3); times > 0; times -= 1) await spoil(redis, random.pick(keys), random);
        const caller = random.pick(served.callers);
        await settle(async (signal) => caller.unary("GetTask", { id }, { signal }));
        await settle(async (signal) => caller.unary("ListTasks", {}, { signal }));
        await settle(async (signal) => {
          const stream = caller.stream("SubscribeToTask", { id }, { signal });
          await stream.next();
          stream.leave();
        });
        const { message } = sendOf("complete") as { message: object };
        const more = { message: { ...message, taskId: id }, configuration: { returnImmediately: true } };
        await settle(async (signal) => caller.unary("SendMessage", more, { signal }));
        await settle(async (signal) => caller.unary("CancelTask", { id }, { signal }));
      },
      check: () => served.check(),
      async [Symbol.asyncDispose]() {
        await served[Symbol.asyncDispose]();
        redis.disconnect();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
