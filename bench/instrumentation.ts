/**
 * `npm run bench:instrumentation [-- --only sends,gets,fan-out --restarts 8 --store redis --quick]`: what metrics cost, and traces of one call in ten, beside the same server
 * with neither. The three live in one process, so that nothing else differs between them (two processes of the same program differ by more than
 * this is about), and are called in short turns, in another order each time; the process is started anew several times. Where there are two cores and
 * `taskset`, it has one to itself.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import type { Driver } from "./drivers/driver.ts";
import { openDriver } from "./drivers/open.ts";
import { pinTo } from "./pin.ts";
import { type ServerProcess, startServer } from "./processes.ts";
import { OURS } from "./programs.ts";
import { deliver } from "./rows/fan-out.ts";
import { repeat } from "./rows/repeat.ts";
import { beginTask, completeWith, FRAMES_AROUND, shortSend } from "./rows/task-stream.ts";
import { HOST } from "./serve-ours.ts";
import { freePort } from "../test/redis/free-port.ts";
import { redisServer } from "../test/redis/redis-server.ts";

const INSTRUMENTED = { ...OURS, name: "instrumented", main: new URL("instrumented-servers.ts", import.meta.url) };
/** What each may cost of the throughput of a server that is not instrumented. */
const SIDES = [
  { name: "off", most: 0 },
  { name: "metrics", most: 0.05 },
  { name: "metrics and traces", most: 0.1 },
] as const;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    store: { type: "string", default: "memory" },
    restarts: { type: "string", default: "8" },
    quick: { type: "boolean", default: false },
  },
});
const { quick, store } = values;
const restarts = quick ? 2 : Number(values.restarts);
const TURNS = quick ? 2 : 30;
const TURN_MS = quick ? 50 : 300;
const WARM_UP_MS = quick ? 100 : 3000;
const WORKERS = 32;
const STREAMS = quick ? 20 : 100;

/** What one turn came to. */
interface Cost {
  readonly done: number;
  readonly seconds: number;
  /** Of the server, in microseconds. */
  readonly cpu: number;
}

/** One of the three, alive. */
interface Living {
  readonly turn: (ms: number) => Promise<Cost>;
  /** All its turns together. */
  readonly total: { done: number; seconds: number; cpu: number };
}

/** What is asked of a server: prepares it, and answers what is repeated. */
const CALLS: Readonly<Record<string, (driver: Driver) => Promise<() => Promise<void>>>> = {
  sends: async (driver) => () => shortSend(driver),
  gets: async (driver) => {
    const { id, call } = await beginTask(driver, "events=100 bytes=100 kind=artifact start=10");
    await completeWith(driver, call, 100 + FRAMES_AROUND);
    return async () => void (await driver.get(id));
  },
};
const FAN_OUT = "fan-out";
const UNITS: Readonly<Record<string, string>> = { sends: "sends/s", gets: "gets/s", [FAN_OUT]: "events/s" };

async function measure<T>(
  server: ServerProcess,
  work: () => Promise<T>,
): Promise<{ result: T; seconds: number; serverCpu: number; loadCpu: number }> {
  const { cpu } = await server.stats(false);
  const begun = performance.now();
  const result = await work();
  const seconds = (performance.now() - begun) / 1000;
  return { result, seconds, serverCpu: (await server.stats(false)).cpu - cpu, loadCpu: 0 };
}

async function prepare(what: string, driver: Driver, server: ServerProcess): Promise<Living["turn"]> {
  if (what === FAN_OUT) {
    return async (ms) => {
      const shape = { streams: STREAMS, events: 10 * ms, delay: 0 };
      const { delivered, cost } = await deliver({ quick: true, measure: (work) => measure(server, work) }, [driver, driver], shape);
      return { done: delivered, seconds: cost.seconds, cpu: cost.serverCpu };
    };
  }
  const call = await CALLS[what]?.(driver);
  if (call === undefined) throw new Error(`--only: there is no ${what}; there are ${Object.keys(UNITS).join(", ")}`);
  return async (ms) => {
    const { result, seconds, serverCpu } = await measure(server, () => repeat({ workers: WORKERS, ms }, call));
    return { done: result, seconds, cpu: serverCpu };
  };
}

/** Takes traces and keeps none. */
async function collector(): Promise<Server> {
  const server = createServer((request, response) => request.resume().on("end", () => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** All three, started anew; answers what each came to. */
async function lives(what: string): Promise<readonly Living[]> {
  await using stack = new AsyncDisposableStack();
  const living: Living[] = [];
  const redis = store === "redis" ? stack.use(await redisServer()) : undefined;
  const ports = [await freePort(), await freePort(), await freePort()];
  pinTo(0);
  const server = stack.use(await startServer(INSTRUMENTED, { args: ports.map(String), redisUrl: redis?.url }));
  pinTo(1);
  for (const port of ports) {
    const driver = openDriver("grpc", { grpc: `${HOST}:${port}` }, 4);
    stack.defer(() => driver.close());
    living.push({ turn: await prepare(what, driver, server), total: { done: 0, seconds: 0, cpu: 0 } });
  }
  for (const { turn } of living) await turn(WARM_UP_MS);
  for (let round = 0; round < TURNS; round += 1) {
    for (let at = 0; at < living.length; at += 1) {
      const { turn, total } = living[(at + round) % living.length] as Living;
      const { done, seconds, cpu } = await turn(TURN_MS);
      total.done += done;
      total.seconds += seconds;
      total.cpu += cpu;
    }
  }
  return living;
}

interface Ratio {
  readonly rate: number;
  readonly cpu: number;
}

/** Of each side beside the first one. */
function ratios(living: readonly Living[]): readonly Ratio[] {
  const each = living.map(({ total: { done, seconds, cpu } }) => ({ rate: done / seconds, cpu: cpu / done }));
  const [off = { rate: Number.NaN, cpu: Number.NaN }] = each;
  return each.map(({ rate, cpu }) => ({ rate: rate / off.rate, cpu: cpu / off.cpu }));
}

/** Mean and its standard error, as a change in percent. */
function change(list: readonly number[]): { readonly mean: number; readonly text: string } {
  const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
  const variance = list.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (list.length - 1);
  const percent = (value: number): string => (100 * value).toFixed(1);
  return { mean, text: `${mean < 1 ? "" : "+"}${percent(mean - 1)} % ± ${percent(Math.sqrt(variance / list.length))}` };
}

async function main(): Promise<void> {
  const sink = await collector();
  process.env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/v1/traces`;
  for (const what of values.only?.split(",") ?? Object.keys(UNITS)) {
    const all: (readonly Living[])[] = [];
    for (let start = 0; start < restarts; start += 1) {
      process.stderr.write(`${what} ${start + 1}/${restarts}\n`);
      all.push(await lives(what));
    }
    print(what, all);
  }
  sink.close();
}

function print(what: string, all: readonly (readonly Living[])[]): void {
  process.stdout.write(`\n${what}, beside off; mean of ${all.length} starts ± standard error\n`);
  const beside = all.map(ratios);
  for (const [at, { name, most }] of SIDES.entries()) {
    const totals = all.map((living) => (living[at] as Living).total);
    const sum = (key: keyof Cost): number => totals.reduce((total, cost) => total + cost[key], 0);
    const own = `${name}: ${(sum("done") / sum("seconds")).toFixed(0)} ${UNITS[what]}, ${(sum("cpu") / sum("done")).toFixed(1)} µs of CPU each`;
    if (at === 0) {
      process.stdout.write(`  ${own}\n`);
      continue;
    }
    const rate = change(beside.map((list) => (list[at] as Ratio).rate));
    const cpu = change(beside.map((list) => (list[at] as Ratio).cpu));
    const verdict = quick ? "" : `; aim: at most ${100 * most} % of the rate${1 - rate.mean <= most ? "" : ", MISSED"}`;
    process.stdout.write(`  ${own}; rate ${rate.text}, CPU ${cpu.text}${verdict}\n`);
  }
}

await main();
