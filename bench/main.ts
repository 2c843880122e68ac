/**
 * Measures our server beside the SDKs for JavaScript, Go and Python with the same agent, beside bare grpc-js, or beside itself: as it was at another
 * commit, over another binding. And the Redis store beside what Redis itself takes. Prints the ratios and writes docs/performance.md. `--help`
 * has the options.
 */
import { availableParallelism, loadavg } from "node:os";
import { checkOut } from "./checkout.ts";
import { Deployment } from "./deployment.ts";
import type { Binding } from "./drivers/driver.ts";
import { judge, type Verdict } from "./judge.ts";
import type { Order } from "./load.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { type LoadProcess, startLoad } from "./processes.ts";
import { writePage } from "./page.ts";
import { BARE, type Program } from "./programs.ts";
import { merge, readResults, writeResults } from "./results.ts";
import type { Pair, PairOrder, PairRow } from "./rows/pair-row.ts";
import type { Row, Sample, Store } from "./rows/row.ts";
import { aimBeside, baselinesOf, nameOf, oursOn, type Side } from "./side.ts";
import { measureStart } from "./start.ts";
import { table } from "./table.ts";

const ROW_TIMEOUT_MS = 240_000;
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
const busy = loadavg()[0] ?? 0;
const failures: unknown[] = [];
const verdicts: Verdict[] = [];
await measureRows(options);
if (options.start) await attempt(async () => void verdicts.push(...(await measureStart(options.others, options.rounds, options.quick))));
for (const row of options.clientRows) await attempt(() => measurePairRow(row, "client/load.ts", options));
for (const row of options.storeRows) await attempt(() => measurePairRow(row, "store/load.ts", options));
report();

async function measureRows({ rows, bindings, against, others }: BenchOptions): Promise<void> {
  if (rows.length === 0) return;
  await using checkout = against === undefined ? undefined : await checkOut(against);
  await using bench = new Bench(options);
  for (const row of rows) {
    for (const binding of bindings.filter((one) => row.bindings?.includes(one) ?? true)) {
      await measureRow(bench, row, binding, checkout === undefined ? others : [checkout.program]);
    }
  }
}

async function measureRow(bench: Bench, row: Row, binding: Binding, others: readonly Program[]): Promise<void> {
  const { roles, rounds, quick, store } = options;
  const ours = oursOn(binding);
  const baselines = roles.includes("baseline")
    ? baselinesOf(binding, row.keeps === true ? others.filter((other) => other !== BARE) : others)
    : [];
  const sides = roles.includes("ours") ? [ours, ...baselines] : baselines;
  const outcomes = new Map<Side, Outcome[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < rounds; round++) {
    // One that fails does without this row; the others do not.
    for (const side of outcomes.keys()) {
      process.stderr.write(`${row.name} ${binding}, ${nameOf(side)} ${round + 1}/${rounds}\n`);
      const fine = await attempt(async () => void outcomes.get(side)?.push(await bench.run(row, side)));
      if (fine) continue;
      outcomes.delete(side);
      // Whatever went wrong, the next one is not to inherit it.
      await bench[Symbol.asyncDispose]();
    }
    if (row.fresh === true && !quick) await bench[Symbol.asyncDispose]();
  }
  // A quick run shares its processes, for starting them takes longer than all that it measures.
  if (!quick) await bench[Symbol.asyncDispose]();
  if (roles.includes("ours") && !outcomes.has(ours)) return;
  for (const baseline of baselines.length > 0 ? baselines : [undefined]) {
    for (const metric of row.metrics) {
      const { key, title, unit } = metric;
      const of = (side: Side | undefined): Sample[] =>
        side === undefined ? [] : (outcomes.get(side) ?? []).flatMap((outcome) => outcome[key] ?? []);
      const aim = baseline && aimBeside(baseline, metric, binding, store);
      const failed = baseline !== undefined && !outcomes.has(baseline);
      const judged = { row: row.name, key, binding, beside: baseline ? nameOf(baseline) : "", title, unit, aim, failed };
      verdicts.push(judge(judged, { ours: of(ours), baseline: of(baseline) }, quick));
    }
  }
}

/** Both sides of such a row are measured in one process, in turns; each round has a Redis or a server of its own. */
async function measurePairRow<C>(
  row: PairRow<C>,
  file: "client/load.ts" | "store/load.ts",
  { rounds, quick, profileDir }: BenchOptions,
): Promise<void> {
  const outcomes: Readonly<Record<string, Pair>>[] = [];
  await using load = startLoad(file, {}, profileDir);
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`${row.name} ${round + 1}/${rounds}\n`);
    const order: PairOrder = { row: row.name, quick, profileDir };
    outcomes.push(await load.call("run", order, PAIR_ROW_TIMEOUT_MS));
  }
  for (const { key, title, unit, aim } of row.metrics) {
    const pairs = outcomes.flatMap((outcome) => outcome[key] ?? []);
    const samples = {
      ours: pairs.map(({ ours }) => ({ value: ours })),
      baseline: pairs.flatMap(({ baseline }) => (baseline === undefined ? [] : { value: baseline })),
    };
    verdicts.push(judge({ row: row.name, key, binding: "", beside: "", title, unit, aim }, samples, quick));
  }
}

/** Answers whether it went well; what went wrong is told at the end. */
async function attempt(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    failures.push(error);
    process.stderr.write(`FAILED ${text(error)}\n`);
    return false;
  }
}

function report(): void {
  const host = { cores: availableParallelism(), node: process.version };
  const { rounds, quick, store, keeps } = options;
  // Other rows are about one store, whichever is asked for.
  const storeOf = ({ row }: Verdict): Store => (options.rows.some(({ name }) => name === row) ? store : "memory");
  if (keeps) {
    const run = { at: new Date().toISOString().slice(0, 10), rounds, load: busy };
    writeResults(merge(readResults(), { host, results: verdicts.map((verdict) => ({ ...verdict, ...run, store: storeOf(verdict) })) }));
    // As they are kept, which is rounded.
    writePage(readResults());
  }
  const missed = verdicts.filter(({ reached }) => reached === false).length;
  process.stdout.write(
    `\n${table(verdicts)}\n\n${host.cores} cores, load ${busy.toFixed(1)} before it began, Node ${host.node}; ${quick ? "a quick run: smaller than the titles say, and the figures mean little" : `median of ${rounds}`}\n`,
  );
  process.stdout.write(`aims missed: ${missed}; failed: ${failures.length}${keeps ? "; written to docs/performance.md" : ""}\n`);
  for (const failure of failures) process.stdout.write(`\nFAILED ${text(failure)}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function text(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n${text(error.cause)}`;
}
