/** A front before the upstream that its first argument names; on the Redis whose URL is the second, else on memory. */
import { serve } from "../src/index.ts";
import { upstreamAgent } from "../src/upstream/index.ts";
import { ready } from "./server-process.ts";

const HOST = "127.0.0.1";
const [, , upstream = "", redisUrl] = process.argv;

const agent = await upstreamAgent(upstream);
const { ports } = await serve({
  agent,
  host: HOST,
  httpPort: 0,
  grpcPort: 0,
  opsPort: 0,
  dedupe: { mode: "off" },
  capacity: 10_000,
  // A busy machine makes every upstream slow: a WORKING of the server's own would be one frame more.
  workingAfterMs: 60_000,
  redis: { url: redisUrl },
});
ready({ grpc: `${HOST}:${ports.grpc}` });
