/** Our own server with the word agent, as processes: one with its tasks in memory, and two replicas that share a Redis. */
import { QUICK, type ServerProcess, startServer } from "../e2e/server-process.ts";
import { redisServer } from "../redis/redis-server.ts";

const AGENT = "test/interop/word-agent.ts";

/** Where clients find them. */
export interface OurServers extends AsyncDisposable {
  /** URL of the card of the server whose tasks are in memory. */
  readonly memory: string;
  /** Those of the two replicas. */
  readonly replicas: readonly [string, string];
}

/** Starts all three and the Redis. */
export async function ourServers(): Promise<OurServers> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await redisServer());
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<string> =>
    cardOf(stack.use(await startServer([AGENT, "--log", "warn"], { ...QUICK, THROUGHLINE_PUSH_ENABLED: "true", ...more })));
  const memory = await start();
  const replica = (name: string): Promise<string> => start({ THROUGHLINE_REDIS_URL: redis.url, THROUGHLINE_REPLICA: name });
  const replicas = [await replica("first"), await replica("second")] as const;
  const kept = stack.move();
  return { memory, replicas, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function cardOf({ ports }: ServerProcess): string {
  return `http://127.0.0.1:${ports.http}/.well-known/agent-card.json`;
}
