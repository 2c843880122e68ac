/**
 * `npm run bench:instrumentation [-- --rows gets,fan-out --store redis --rounds 5 --quick]`: what metrics cost, and traces of one call in ten, beside the same server with
 * neither. Rounds of the three are interleaved. The ratios of server CPU are judged: other work on the machine changes rates more.
 */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { judge } from "./judge.ts";
import type { Order } from "./load.ts";
import { type LoadProcess, type ServerProcess, startLoad, startServer } from "./processes.ts";
import { OURS } from "./programs.ts";
import { fanOut } from "./rows/fan-out.ts";
import { gets } from "./rows/gets.ts";
import type { Row, Sample, Store } from "./rows/row.ts";
import { shortSends } from "./rows/short-sends.ts";
import { redisServer } from "../test/redis/redis-server.ts";

const ROW_TIMEOUT_MS = 120_000;
const MEASURED = { ...OURS, name: "measured", main: new URL("measured-server.ts", import.meta.url) };
/** What each may cost of the CPU of an uninstrumented server. */
const SIDES = {
  off: { program: OURS, args: [], most: 1 },
  metrics: { program: MEASURED, args: [], most: 1.05 },
  "metrics and traces": { program: MEASURED, args: ["traced"], most: 1.1 },
} as const;
type Side = keyof typeof SIDES;
const NAMES = Object.keys(SIDES) as readonly Side[];
const ROWS: readonly (readonly [row: Row, key: string])[] = [
  [shortSends, "many"],
  [gets, "rate"],
  [fanOut, "rate"],
];

const { values } = parseArgs({
  options: {
    rows: { type: "string" },
    store: { type: "string", default: "memory" },
    rounds: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
  },
});
const { quick } = values;
const rounds = Number(values.rounds);
const store = values.store as Store;

/** Takes traces and keeps none. */
async function collector(): Promise<Server> {
  const server = createServer((request, response) => request.resume().on("end", () => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** A server with a store of its own, so that none pays for what another has kept. */
async function start(side: Side, stack: AsyncDisposableStack): Promise<ServerProcess> {
  const redis = store === "redis" ? stack.use(await redisServer()) : undefined;
  const { program, args } = SIDES[side];
  return stack.use(await startServer(program, { args, redisUrl: redis?.url }));
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const sink = await collector();
  stack.defer(() => void sink.close());
  process.env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/v1/traces`;
  const servers = new Map<Side, ServerProcess>();
  for (const side of NAMES) servers.set(side, await start(side, stack));
  let current: ServerProcess | undefined;
  const load: LoadProcess = stack.use(startLoad("load.ts", { stats: ({ gc }: { gc: boolean }) => current?.stats(gc) }));
  const wanted = values.rows?.split(",");
  for (const [row, key] of ROWS) {
    if (wanted?.includes(row.name) === false) continue;
    const samples: Record<Side, Sample[]> = { off: [], metrics: [], "metrics and traces": [] };
    for (let round = 0; round < rounds; round += 1) {
      // Whoever comes first has the caches of the machine for itself: each is it in turn.
      for (let at = 0; at < NAMES.length; at += 1) {
        const side = NAMES[(at + round) % NAMES.length] as Side;
        current = servers.get(side) as ServerProcess;
        process.stderr.write(`${row.name}, ${side} ${round + 1}/${rounds}\n`);
        const order: Order = { row: row.name, binding: "grpc", urls: [current.urls], quick };
        const outcome = await load.call<Record<string, Sample>>("run", order, ROW_TIMEOUT_MS);
        const sample = outcome[key];
        if (sample !== undefined) samples[side].push(sample);
      }
    }
    print(row, key, samples);
  }
}

function print(row: Row, key: string, samples: Readonly<Record<Side, readonly Sample[]>>): void {
  const { title = key, unit = "" } = row.metrics.find((metric) => metric.key === key) ?? {};
  process.stdout.write(`\n${title}\n`);
  for (const side of NAMES) {
    const judged = { row: row.name, key, binding: "grpc", beside: "off", title, unit, aim: undefined };
    const { ours, ratio = Number.NaN, cpuRatio = Number.NaN } = judge(judged, { ours: samples[side], baseline: samples.off }, quick);
    const { most } = SIDES[side];
    const verdict = side === "off" || quick ? "" : `, aim: at most ${most}${cpuRatio <= most ? "" : ", MISSED"}`;
    process.stdout.write(
      `  ${side}: ${ours?.value.toFixed(0)} ${unit}, ${ours?.cpuEach?.toFixed(1)} µs of CPU each; beside off: rate ${ratio.toFixed(3)}, CPU ${cpuRatio.toFixed(3)}${verdict}\n`,
    );
  }
}

await main();
