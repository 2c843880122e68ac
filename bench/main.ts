/**
 * Measures our server beside `@a2a-js/sdk` with the same agent, or beside itself: as it was at another commit, over another binding. And the
 * Redis store beside what Redis itself takes. Prints the ratios. `--help` has the options.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { checkOut } from "./checkout.ts";
import { Deployment } from "./deployment.ts";
import type { Binding } from "./drivers/driver.ts";
import { judge, type Verdict } from "./judge.ts";
import type { Order } from "./load.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { type LoadProcess, startLoad } from "./processes.ts";
import { JS, type Program } from "./programs.ts";
import type { Pair, PairOrder, PairRow } from "./rows/pair-row.ts";
import type { Row, Sample } from "./rows/row.ts";
import { aimBeside, nameOf, type Role, type Side, sidesOf } from "./side.ts";
import { table } from "./table.ts";

const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));
const ROW_TIMEOUT_MS = 120_000;
const PAIR_ROW_TIMEOUT_MS = 300_000;

type Outcome = Readonly<Record<string, Sample>>;

/** The programs that are up, and the process that loads them one at a time. */
class Bench implements AsyncDisposable {
  readonly #options: BenchOptions;
  readonly #deployments = new Map<Program, Deployment>();
  #load: LoadProcess | undefined;
  #measured: Deployment | undefined;

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  /** Measures a row once on one side, starting what is not yet up. */
  async run(row: Row, side: Side): Promise<Outcome> {
    const { program, binding } = side;
    const { quick, profileDir } = this.#options;
    const deployment = this.#deployments.get(program) ?? new Deployment(program, this.#options);
    this.#deployments.set(program, deployment);
    const servers = await deployment.replicas(row.replicas ?? 1);
    this.#measured = deployment;
    this.#load ??= startLoad("load.ts", { stats: ({ gc }: { gc: boolean }) => this.#measured?.stats(gc) }, profileDir);
    const order: Order = { row: row.name, binding, urls: servers.map(({ urls }) => urls), quick };
    try {
      return await this.#load.call<Outcome>("run", order, ROW_TIMEOUT_MS);
    } catch (error) {
      throw new Error(`${row.name} on ${binding}, ${nameOf(side)}: ${deployment.complaints()}`, { cause: error });
    }
  }

  /** Ends every process; the next run starts anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    const processes = [...this.#deployments.values(), ...(this.#load === undefined ? [] : [this.#load])];
    this.#deployments.clear();
    this.#load = undefined;
    await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()));
  }
}

const options = readOptions(process.argv.slice(2));
const busy = loadavg()[0];
const failures: unknown[] = [];
const verdicts: Verdict[] = [];
await measureRows(options);
for (const row of options.clientRows) verdicts.push(...(await measurePairRow(row, "client/load.ts", options)));
for (const row of options.storeRows) verdicts.push(...(await measurePairRow(row, "store/load.ts", options)));
report();

async function measureRows({ rows, bindings, against }: BenchOptions): Promise<void> {
  if (rows.length === 0) return;
  await using checkout = against === undefined ? undefined : await checkOut(against);
  await using bench = new Bench(options);
  for (const row of rows) {
    for (const binding of bindings) verdicts.push(...(await measureRow(bench, row, binding, checkout?.program ?? JS)));
  }
}

async function measureRow(bench: Bench, row: Row, binding: Binding, other: Program): Promise<Verdict[]> {
  const { roles, rounds, quick, store } = options;
  const sides = sidesOf(binding, other);
  const outcomes: Record<Role, Outcome[]> = { ours: [], baseline: [] };
  try {
    for (let round = 0; round < rounds; round++) {
      for (const role of roles) {
        process.stderr.write(`${row.name} ${binding}, ${nameOf(sides[role])} ${round + 1}/${rounds}\n`);
        outcomes[role].push(await bench.run(row, sides[role]));
      }
      if (row.fresh === true && !quick) await bench[Symbol.asyncDispose]();
    }
  } catch (error) {
    failures.push(error);
    process.stderr.write(`FAILED ${text(error)}\n`);
    // Whatever went wrong, the next row is not to inherit it.
    await bench[Symbol.asyncDispose]();
    return [];
  }
  // A quick run shares its processes, for starting them takes longer than all that it measures.
  if (!quick) await bench[Symbol.asyncDispose]();
  return row.metrics.map(({ key, title, unit, aim }) => {
    const of = (role: Role): Sample[] => outcomes[role].flatMap((outcome) => outcome[key] ?? []);
    const beside = nameOf(sides.baseline);
    const judged = { row: row.name, binding, beside, title, unit, aim: aimBeside(sides.baseline, aim?.(binding, store)) };
    return judge(judged, { ours: of("ours"), baseline: of("baseline") }, quick);
  });
}

/** Both sides of such a row are measured in one process, in turns; each round has a Redis or a server of its own. */
async function measurePairRow<C>(
  row: PairRow<C>,
  file: "client/load.ts" | "store/load.ts",
  { rounds, quick, profileDir }: BenchOptions,
): Promise<Verdict[]> {
  const outcomes: Readonly<Record<string, Pair>>[] = [];
  try {
    await using load = startLoad(file, {}, profileDir);
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`${row.name} ${round + 1}/${rounds}\n`);
      const order: PairOrder = { row: row.name, quick, profileDir };
      outcomes.push(await load.call("run", order, PAIR_ROW_TIMEOUT_MS));
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
    return judge({ row: row.name, binding: "", beside: "", title, unit, aim }, samples, quick);
  });
}

function report(): void {
  const host = { cpu: cpus()[0]?.model, cores: availableParallelism(), load: busy, node: process.version };
  const { rounds, quick } = options;
  const results = { at: new Date().toISOString(), host, rounds, quick, store: options.store, verdicts, failures: failures.map(text) };
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  const missed = verdicts.filter(({ reached }) => reached === false).length;
  process.stdout.write(
    `\n${table(verdicts)}\n\n${host.cores} cores, ${host.cpu}, load ${busy?.toFixed(1)} before it began, Node ${host.node}; ${quick ? "a quick run: smaller than the titles say, and the figures mean little" : `median of ${rounds}`}\n`,
  );
  process.stdout.write(`aims missed: ${missed}; rows failed: ${failures.length}; written to ${RESULTS}\n`);
  for (const failure of failures) process.stdout.write(`\nFAILED ${text(failure)}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function text(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n${text(error.cause)}`;
}
