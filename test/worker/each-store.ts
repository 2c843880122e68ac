/** What holds for a worker on any store. */
import { test, type TestContext } from "node:test";
import { testAgent } from "../../src/testing/index.ts";
import { fileRedis } from "../redis/file-redis.ts";

/** Few: each harness opens a store of its own. */
const SHARDS = 4;

/** A test that runs in memory, and on Redis; its harness comes from the function that it is given. */
export function onEachStore(name: string, body: (start: typeof testAgent, t: TestContext) => Promise<void>): void {
  test(name, (t) => body(testAgent, t));
  test(`${name} (on Redis)`, async (t) => {
    await body(async (agent, options) => testAgent(agent, { ...options, redis: { ...(await fileRedis()), shards: SHARDS } }), t);
  });
}
