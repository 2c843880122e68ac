/** Our server with the bench agent, on the Redis whose URL is its argument, else on memory. */
import { serve } from "../src/index.ts";
import { benchAgent } from "../examples/conformance-agent/bench-agent.ts";
import { ready } from "./server-process.ts";

const HOST = "127.0.0.1";

// Room for as many tasks and streams as the rows hold: the others keep all they get as well.
const { ports } = await serve({
  agent: benchAgent,
  host: HOST,
  httpPort: 0,
  grpcPort: 0,
  opsPort: 0,
  dedupe: { mode: "off" },
  capacity: 10_000,
  maxBytes: 4 * 2 ** 30,
  limits: { streamsPerPrincipal: 50_000 },
  redis: { url: process.argv[2] },
});
const http = `http://${HOST}:${ports.http}`;
ready({ grpc: `${HOST}:${ports.grpc}`, connect: http, grpcweb: http, rest: http, jsonrpc: `${http}/jsonrpc` });
