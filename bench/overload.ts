/**
 * `npm run bench:overload [-- --redis URL --one-core]`: what ten times the allowed rate of one caller costs another. Prints the other's p99 in three
 * conditions that take turns, of all rounds together: alone; while the same load comes to another server of the same machine, which takes from
 * both cores what no machine of its own would; and beside the load. Aims at 1.5 times the second at most. The servers run as in the image. The callers
 * are processes of their own, speak HTTP/2 themselves and collect their garbage in small pieces (see the options of Node in package.json). With
 * `--one-core` the servers share one and the callers the other, as in a pod of one CPU.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetTaskRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { envelope } from "../src/bindings/envelope.ts";
import { pinTo } from "./pin.ts";
import { AS_IN_IMAGE } from "./image-options.ts";
import { quantile } from "./quantile.ts";
import { serve } from "../src/server/serve.ts";

/** Calls a second that each caller may make. */
const ALLOWED = 100;
const TIMES = 10;
/** The other caller's own. */
const PACE = 80;
const ROUNDS = 9;
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
  return fork(import.meta.filename, args, { execArgv: role === "server" ? [...AS_IN_IMAGE] : process.execArgv });
}

/** How long each call of the other caller took, in milliseconds. */
async function timesOf(call: Call, ms: number): Promise<number[]> {
  const took: number[] = [];
  await paced(call, PACE, ms, (tookMs) => took.push(tookMs));
  return took;
}

const CONDITIONS = ["alone", "load elsewhere", "load beside"] as const;

async function main(): Promise<void> {
  const pin: typeof pinTo = values["one-core"] ? pinTo : () => undefined;
  pin(0);
  const [server, elsewhere] = [start("server"), start("server")];
  const ports = await Promise.all([server, elsewhere].map(async (one) => (await once(one, "message")) as [number]));
  pin(1);
  const [load, loadElsewhere] = ports.map(([port]) => start("load", "--port", String(port))) as [ChildProcess, ChildProcess];
  const loads = { alone: undefined, "load elsewhere": loadElsewhere, "load beside": load };
  const others = ports.map(([port]) => caller(port, "b")) as [Call, Call];
  for (const other of others) await timesOf(other, WARM_UP_MS);
  for (const one of [load, loadElsewhere]) {
    one.send(WARM_UP_MS);
    await once(one, "message");
  }
  const took = { alone: [] as number[], "load elsewhere": [] as number[], "load beside": [] as number[] };
  const used = { alone: 0, "load elsewhere": 0, "load beside": 0 };
  const counts = { through: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let turn = 0; turn < CONDITIONS.length; turn += 1) {
      const condition = CONDITIONS[(round + turn) % CONDITIONS.length] as (typeof CONDITIONS)[number];
      const before = await cpuOf(server);
      loads[condition]?.send(ROUND_MS);
      took[condition].push(...(await timesOf(others[0], ROUND_MS)));
      const [came] = loads[condition] === undefined ? [] : ((await once(loads[condition], "message")) as [typeof counts]);
      used[condition] += (await cpuOf(server)) - before;
      if (condition !== "load beside" || came === undefined) continue;
      counts.through += came.through;
      counts.refused += came.refused;
    }
  }
  const p99 = (condition: keyof typeof took): number => quantile(took[condition], 0.99);
  const ratio = (to: keyof typeof took): string => (p99("load beside") / p99(to)).toFixed(2);
  const cpu = (1000 * (used["load beside"] - used.alone)) / (counts.through + counts.refused);
  process.stdout.write(
    `allowed ${ALLOWED} calls/s, made ${ALLOWED * TIMES} calls/s: ${counts.through} let through, ${counts.refused} refused in ${(ROUNDS * ROUND_MS) / 1000} s; ${cpu.toFixed(0)} µs of the server's CPU each\n`,
  );
  for (const condition of CONDITIONS) {
    const list = took[condition];
    process.stdout.write(
      `${condition}: p50 ${quantile(list, 0.5).toFixed(2)} ms, p99 ${p99(condition).toFixed(2)} ms of ${list.length} calls of another caller\n`,
    );
  }
  process.stdout.write(
    `p99 beside the load: ${ratio("load elsewhere")} times that with the load elsewhere (aim: at most 1.5), ${ratio("alone")} times that alone\n`,
  );
  for (const child of [load, loadElsewhere, server, elsewhere]) child.kill("SIGKILL");
  process.exit(0);
}

await (values.role === "server" ? beServer() : values.role === "load" ? beLoad() : main());
