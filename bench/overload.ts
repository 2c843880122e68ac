/**
 * `npm run bench:overload [-- --redis URL --one-core]`: what ten times the allowed rate of one caller costs another. Prints the other's p99 alone and
 * beside it, of all rounds together, and their ratio; aims at 1.5 at most. The server runs as in the image. The callers are processes of their own, speak
 * HTTP/2 themselves and collect their garbage in small pieces (see the options of Node in package.json), to leave the server a core. With
 * `--one-core` it has one and no more, as in a pod of one CPU, and the callers the other.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetTaskRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { envelope } from "../src/bindings/envelope.ts";
import { pinTo } from "./pin.ts";
import { quantile } from "./quantile.ts";
import { serve } from "../src/server/serve.ts";

/** Calls a second that each caller may make. */
const ALLOWED = 100;
const TIMES = 10;
/** The other caller's own. */
const PACE = 80;
const ROUNDS = 8;
const ROUND_MS = 4000;
const WARM_UP_MS = 3000;

const { values } = parseArgs({
  options: {
    redis: { type: "string" },
    "one-core": { type: "boolean", default: false },
    role: { type: "string" },
    port: { type: "string" },
  },
});

/** Of gRPC: what a call that is let through is answered here, and one that is not. */
const [NOT_FOUND, EXHAUSTED] = ["5", "8"];
/** The options of Node that the image gives it. */
const AS_IN_IMAGE = ["--max-semi-space-size=8", "--v8-pool-size=1"];

type Call = () => Promise<boolean>;

/** A call for a task that there is not: policy and one look into the store. Answers whether it was let through. */
function caller(port: number, token: string): Call {
  const session = connect(`http://127.0.0.1:${port}`);
  const body = envelope(0, toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: "01a229d2-e786-7878-8261-7265d86cac00" })));
  const headers = {
    ":method": "POST",
    ":path": "/lf.a2a.v1.A2AService/GetTask",
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
    authorization: `Bearer ${token}`,
  };
  return async () => {
    const stream = session.request(headers);
    let status = "";
    const told = (fields: IncomingHttpHeaders): void => void (status = String(fields["grpc-status"] ?? status));
    stream.on("response", told).on("trailers", told).resume().end(body);
    await once(stream, "close");
    if (status !== NOT_FOUND && status !== EXHAUSTED) throw new Error(`a call ended with status ${status}`);
    return status === NOT_FOUND;
  };
}

async function timed(call: Call, at: number, done: (tookMs: number, through: boolean) => void): Promise<void> {
  const through = await call();
  done(performance.now() - at, through);
}

/** Calls at a pace, whatever answers have come, until told to stop; calls what came of each. */
async function paced(call: Call, perSecond: number, ms: number, done: (tookMs: number, through: boolean) => void): Promise<void> {
  const open = new Set<Promise<void>>();
  const begun = performance.now();
  for (let made = 0; performance.now() - begun < ms; await new Promise((resolve) => setTimeout(resolve, 1))) {
    for (const due = ((performance.now() - begun) / 1000) * perSecond; made < due; made += 1) {
      const at = performance.now();
      const one = timed(call, at, done);
      void one.finally(() => open.delete(one));
      open.add(one);
    }
  }
  await Promise.all(open);
}

async function beServer(): Promise<void> {
  const rates = { "*": { perSecond: ALLOWED, burst: ALLOWED } };
  const agent = {
    card: { name: "Overload", description: "Nothing.", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] },
    async *run() {},
  };
  const ports = { grpcPort: 0, httpPort: 0, opsPort: 0 };
  const redis = values.redis === undefined ? {} : { redis: { url: values.redis, prefix: `overload-${process.pid}` } };
  const server = await serve({ agent, tokens: { a: "alice", b: "bob" }, limits: { rates }, ...ports, ...redis });
  process.send?.(server.ports.grpc);
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1000);
  });
}

async function beLoad(): Promise<void> {
  const call = caller(Number(values.port), "a");
  for (;;) {
    const [ms] = (await once(process, "message")) as [number];
    const counts = { through: 0, refused: 0 };
    await paced(call, ALLOWED * TIMES, ms, (_, through) => (counts[through ? "through" : "refused"] += 1));
    process.send?.(counts);
  }
}

/** CPU that the server has used so far, in milliseconds. */
async function cpuOf(server: ChildProcess): Promise<number> {
  server.send("cpu");
  const [ms] = (await once(server, "message")) as [number];
  return ms;
}

function start(role: string, ...more: string[]): ChildProcess {
  const args = ["--role", role, ...more, ...(values.redis === undefined ? [] : ["--redis", values.redis])];
  return fork(import.meta.filename, args, { execArgv: role === "server" ? AS_IN_IMAGE : process.execArgv });
}

/** How long each call of the other caller took, in milliseconds. */
async function timesOf(call: Call, ms: number): Promise<number[]> {
  const took: number[] = [];
  await paced(call, PACE, ms, (tookMs) => took.push(tookMs));
  return took;
}

async function main(): Promise<void> {
  const pin: typeof pinTo = values["one-core"] ? pinTo : () => undefined;
  pin(0);
  const server = start("server");
  pin(1);
  const [port] = (await once(server, "message")) as [number];
  const load = start("load", "--port", String(port));
  const other = caller(port, "b");
  await timesOf(other, WARM_UP_MS);
  load.send(WARM_UP_MS);
  await once(load, "message");
  const [alone, beside]: [number[], number[]] = [[], []];
  const counts = { through: 0, refused: 0 };
  let cpuMs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await cpuOf(server);
    alone.push(...(await timesOf(other, ROUND_MS)));
    const between = await cpuOf(server);
    load.send(ROUND_MS);
    beside.push(...(await timesOf(other, ROUND_MS)));
    const [came] = (await once(load, "message")) as [typeof counts];
    counts.through += came.through;
    counts.refused += came.refused;
    cpuMs += (await cpuOf(server)) - between - (between - before);
  }
  const [aloneMs, besideMs] = [quantile(alone, 0.99), quantile(beside, 0.99)];
  process.stdout.write(`CPU of the server for each of them: ${((1000 * cpuMs) / (counts.through + counts.refused)).toFixed(0)} µs\n`);
  process.stdout.write(
    `allowed ${ALLOWED} calls/s, made ${ALLOWED * TIMES} calls/s: ${counts.through} let through, ${counts.refused} refused in ${(ROUNDS * ROUND_MS) / 1000} s\n`,
  );
  process.stdout.write(
    `p99 of another caller: ${aloneMs.toFixed(2)} ms alone, ${besideMs.toFixed(2)} ms beside; ratio ${(besideMs / aloneMs).toFixed(2)} (aim: at most 1.5)\n`,
  );
  load.kill();
  server.kill("SIGKILL");
  process.exit(0);
}

await (values.role === "server" ? beServer() : values.role === "load" ? beLoad() : main());
