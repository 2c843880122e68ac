/** Measures our server beside `@a2a-js/sdk` with the same agent and prints the ratios. `--help` has the options. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { Binding } from "./drivers/driver.ts";
import { judge, type Verdict } from "./judge.ts";
import type { Order } from "./load.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { type LoadProcess, type ServerProcess, type Side, startLoad, startServer } from "./processes.ts";
import type { Row, Sample } from "./rows/row.ts";
import { table } from "./table.ts";

const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));
const ROW_TIMEOUT_MS = 120_000;

type Outcome = Readonly<Record<string, Sample>>;

/** The servers that are up, and the process that loads them one at a time. */
class Bench implements AsyncDisposable {
  readonly #options: BenchOptions;
  readonly #servers = new Map<Side, ServerProcess>();
  #load: LoadProcess | undefined;
  #measured: ServerProcess | undefined;

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  /** Measures a row once on one side, starting what is not yet up. */
  async run(row: Row, binding: Binding, side: Side): Promise<Outcome> {
    const { quick, profileDir } = this.#options;
    const server = this.#servers.get(side) ?? (await startServer(side, profileDir));
    this.#servers.set(side, server);
    this.#measured = server;
    this.#load ??= startLoad({ stats: ({ gc }: { gc: boolean }) => this.#measured?.stats(gc) }, profileDir);
    const order: Order = { row: row.name, binding, urls: server.urls, quick };
    try {
      return await this.#load.call<Outcome>("run", order, ROW_TIMEOUT_MS);
    } catch (error) {
      throw new Error(`${row.name} on ${binding}, ${side}: ${server.complaints()}`, { cause: error });
    }
  }

  /** Ends every process; the next run starts anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    const processes = [...this.#servers.values(), ...(this.#load === undefined ? [] : [this.#load])];
    this.#servers.clear();
    this.#load = undefined;
    await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()));
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
report();

async function measureRow(processes: Bench, row: Row, binding: Binding, { sides, rounds, quick }: BenchOptions): Promise<Verdict[]> {
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
    return judge(row.name, binding, metric, { ours: of("ours"), js: of("js") }, quick);
  });
}

function report(): void {
  const host = { cpu: cpus()[0]?.model, cores: availableParallelism(), node: process.version };
  const { rounds, quick } = options;
  const results = { at: new Date().toISOString(), host, rounds, quick, verdicts, failures: failures.map(text) };
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
