/** Our server with the bench agent, on the Redis whose URL is its argument, else on memory. */
import { HOST, serveOurs } from "./serve-ours.ts";
import { ready } from "./server-process.ts";

const { ports } = await serveOurs({ redisUrl: process.argv[2] });
const http = `http://${HOST}:${ports.http}`;
ready({ grpc: `${HOST}:${ports.grpc}`, connect: http, grpcweb: http, rest: http, jsonrpc: `${http}/jsonrpc` });
