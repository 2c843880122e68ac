/**
 * Measures our server beside `@a2a-js/sdk` with the same agent, and the Redis store beside what Redis itself takes; prints the ratios.
 * `--help` has the options.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { type RedisServer, redisServer } from "../test/redis/redis-server.ts";
import type { Binding } from "./drivers/driver.ts";
import { judge, type Verdict } from "./judge.ts";
import type { Order } from "./load.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { type LoadProcess, type ServerProcess, type Side, startLoad, startServer } from "./processes.ts";
import type { Row, Sample } from "./rows/row.ts";
import type { StoreOrder } from "./store/load.ts";
import type { Pair, StoreRow } from "./store/store-row.ts";
import type { Stats } from "./server-process.ts";
import { table } from "./table.ts";

const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));
const ROW_TIMEOUT_MS = 120_000;
const STORE_ROW_TIMEOUT_MS = 300_000;

type Outcome = Readonly<Record<string, Sample>>;

/** The servers that are up, and the process that loads them one at a time. */
class Bench implements AsyncDisposable {
  readonly #options: BenchOptions;
  readonly #servers: Record<Side, ServerProcess[]> = { ours: [], js: [] };
  #redis: RedisServer | undefined;
  #load: LoadProcess | undefined;
  #measured: readonly ServerProcess[] = [];

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  /** Measures a row once on one side, starting what is not yet up. */
  async run(row: Row, binding: Binding, side: Side): Promise<Outcome> {
    const { quick, profileDir, store } = this.#options;
    const servers = this.#servers[side];
    const shared = side === "ours" && store === "redis";
    if (shared) this.#redis ??= await redisServer();
    const launch = { profileDir, redisUrl: shared ? this.#redis?.url : undefined };
    while (servers.length < (shared ? (row.replicas ?? 1) : 1)) servers.push(await startServer(side, launch));
    this.#measured = servers;
    this.#load ??= startLoad("load.ts", { stats: ({ gc }: { gc: boolean }) => this.#stats(gc) }, profileDir);
    const order: Order = { row: row.name, binding, urls: servers.map(({ urls }) => urls), quick };
    try {
      return await this.#load.call<Outcome>("run", order, ROW_TIMEOUT_MS);
    } catch (error) {
      const complaints = servers.map((server) => server.complaints()).join("\n");
      throw new Error(`${row.name} on ${binding}, ${side}: ${complaints}`, { cause: error });
    }
  }

  async #stats(gc: boolean): Promise<Stats> {
    const all = await Promise.all(this.#measured.map((server) => server.stats(gc)));
    const sum = (key: keyof Stats): number => all.reduce((total, one) => total + one[key], 0);
    return { rss: sum("rss"), heapUsed: sum("heapUsed"), cpu: sum("cpu") };
  }

  /** Ends every process; the next run starts anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    const processes = [...this.#servers.ours.splice(0), ...this.#servers.js.splice(0), ...(this.#load === undefined ? [] : [this.#load])];
    const redis = this.#redis;
    this.#load = undefined;
    this.#redis = undefined;
    await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()));
    await redis?.[Symbol.asyncDispose]();
  }
}

const options = readOptions(process.argv.slice(2));
const failures: unknown[] = [];
const verdicts: Verdict[] = [];
const bench = new Bench(options);
try {
  for (const row of options.rows) {
    for (const binding of options.bindings) verdicts.push(...(await measureRow(bench, row, binding, options)));
  }
} finally {
  await bench[Symbol.asyncDispose]();
}
for (const row of options.storeRows) verdicts.push(...(await measureStoreRow(row, options)));
report();

async function measureRow(processes: Bench, row: Row, binding: Binding, { sides, rounds, quick, store }: BenchOptions): Promise<Verdict[]> {
  const outcomes: Partial<Record<Side, Outcome[]>> = {};
  try {
    for (let round = 0; round < rounds; round++) {
      for (const side of sides) {
        process.stderr.write(`${row.name} ${binding} ${side} ${round + 1}/${rounds}\n`);
        (outcomes[side] ??= []).push(await processes.run(row, binding, side));
      }
      if (row.fresh === true && !quick) await processes[Symbol.asyncDispose]();
    }
  } catch (error) {
    failures.push(error);
    process.stderr.write(`FAILED ${text(error)}\n`);
    // Whatever went wrong, the next row is not to inherit it.
    await processes[Symbol.asyncDispose]();
    return [];
  }
  // A quick run shares its processes, for starting them takes longer than all that it measures.
  if (!quick) await processes[Symbol.asyncDispose]();
  return row.metrics.map((metric) => {
    const of = (side: Side): Sample[] => (outcomes[side] ?? []).flatMap((outcome) => outcome[metric.key] ?? []);
    const judged = { row: row.name, binding, title: metric.title, unit: metric.unit, aim: metric.aim?.(binding, store) };
    return judge(judged, { ours: of("ours"), baseline: of("js") }, quick);
  });
}

/** Both sides of such a row are measured in one process, in turns; each round has a Redis of its own. */
async function measureStoreRow(row: StoreRow, { rounds, quick, profileDir }: BenchOptions): Promise<Verdict[]> {
  const outcomes: Readonly<Record<string, Pair>>[] = [];
  try {
    await using load = startLoad("store/load.ts", {}, profileDir);
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`${row.name} ${round + 1}/${rounds}\n`);
      const order: StoreOrder = { row: row.name, quick, profileDir };
      outcomes.push(await load.call("run", order, STORE_ROW_TIMEOUT_MS));
    }
  } catch (error) {
    failures.push(error);
    process.stderr.write(`FAILED ${text(error)}\n`);
    return [];
  }
  return row.metrics.map(({ key, title, unit, aim }) => {
    const pairs = outcomes.flatMap((outcome) => outcome[key] ?? []);
    const samples = {
      ours: pairs.map(({ ours }) => ({ value: ours })),
      baseline: pairs.flatMap(({ baseline }) => (baseline === undefined ? [] : { value: baseline })),
    };
    return judge({ row: row.name, binding: "", title, unit, aim }, samples, quick);
  });
}

function report(): void {
  const host = { cpu: cpus()[0]?.model, cores: availableParallelism(), node: process.version };
  const { rounds, quick } = options;
  const results = { at: new Date().toISOString(), host, rounds, quick, store: options.store, verdicts, failures: failures.map(text) };
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  const missed = verdicts.filter(({ reached }) => reached === false).length;
  process.stdout.write(
    `\n${table(verdicts)}\n\n${host.cores} cores, ${host.cpu}, Node ${host.node}; ${quick ? "a quick run: smaller than the titles say, and the figures mean little" : `median of ${rounds}`}\n`,
  );
  process.stdout.write(`aims missed: ${missed}; rows failed: ${failures.length}; written to ${RESULTS}\n`);
  for (const failure of failures) process.stdout.write(`\nFAILED ${text(failure)}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function text(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n${text(error.cause)}`;
}
