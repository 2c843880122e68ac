/** Our server with the bench agent, as every program here starts it. */
import { type RunningServer, serve } from "../src/index.ts";
import { benchAgent } from "../examples/conformance-agent/bench-agent.ts";

export const HOST = "127.0.0.1";

/** On the Redis at a URL, else on memory; at a port for gRPC, else at a free one. */
export function serveOurs({
  redisUrl,
  grpcPort = 0,
}: {
  readonly redisUrl?: string | undefined;
  readonly grpcPort?: number;
}): Promise<RunningServer> {
  // Room for as many tasks and streams as the rows hold: the others keep all they get as well.
  return serve({
    agent: benchAgent,
    host: HOST,
    httpPort: 0,
    grpcPort,
    opsPort: 0,
    dedupe: { mode: "off" },
    capacity: 10_000,
    maxBytes: 4 * 2 ** 30,
    limits: { streamsPerPrincipal: 50_000 },
    redis: { url: redisUrl },
  });
}
