/** What holds for a worker on any store. */
import { test, type TestContext } from "node:test";
import { type HarnessOptions, testAgent } from "../../src/testing/index.ts";
import { fileRedis } from "../redis/file-redis.ts";

/** Few: each harness opens a store of its own. */
const SHARDS = 4;

/** No WORKING by the clock: on a busy machine it would come into logs that do not have it otherwise. */
const NEVER = { workingAfterMs: 2 ** 30 };

/** A test that runs in memory, and on Redis; its harness comes from the function that it is given. */
export function onEachStore(name: string, body: (start: typeof testAgent, t: TestContext) => Promise<void>): void {
  test(name, (t) => body((agent, options) => testAgent(agent, { ...NEVER, ...options }), t));
  test(`${name} (on Redis)`, async (t) => {
    const redis = async (): Promise<HarnessOptions["redis"]> => ({ ...(await fileRedis()), shards: SHARDS });
    await body(async (agent, options) => testAgent(agent, { ...NEVER, ...options, redis: await redis() }), t);
  });
}
