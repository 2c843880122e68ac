/** The command line. */
import { parseArgs } from "node:util";
import { CLIENT_ROWS } from "./client/index.ts";
import { type Binding, BINDINGS } from "./drivers/driver.ts";
import { lacks } from "./foreign/foreign-program.ts";
import { OTHERS, type Program } from "./programs.ts";
import { ROWS } from "./rows/index.ts";
import { type Row, type Store, STORES } from "./rows/row.ts";
import { type Role, ROLES } from "./side.ts";
import { START } from "./start.ts";
import { STORE_ROWS } from "./store/index.ts";
import type { StoreRow } from "./store/store-row.ts";

const USAGE = `npm run bench -- [options]

  --only a,b       rows, of: ${ROWS.map(({ name }) => name).join(", ")};
                   of \`throughline serve\`: ${START.name};
                   of the client, beside bare grpc-js, and of the front, beside its upstream: ${CLIENT_ROWS.map(({ name }) => name).join(", ")};
                   of the Redis store alone: ${STORE_ROWS.map(({ name }) => name).join(", ")}
  --store name     where ours keeps its tasks in the rows that are side by side, of: ${STORES.join(", ")} (default memory)
  --bindings a,b   of: ${BINDINGS.join(", ")}
  --beside a,b     baselines, of: ${OTHERS.map(({ name }) => name).join(", ")}. Default: all that can be built here. On a binding that none of them speaks
                   it is our own gRPC, and the ratio is what the binding costs against it
  --against ref    the baseline is our server at that commit of this repository
  --side name      of: ${ROLES.join(", ")}
  --rounds n       measurements of each side, interleaved; the median counts (default 1)
  --quick          the least that shows that every row works; its figures mean little
  --profile dir    writes a CPU profile of every process of Node there; the figures are then those of profiled processes

What was measured goes to bench/results.json and into docs/performance.md, in place of what was measured of the same before; not with --quick,
--against, --side or --profile.`;

export interface BenchOptions {
  readonly rows: readonly Row[];
  /** Whether to measure starts. */
  readonly start: boolean;
  readonly clientRows: typeof CLIENT_ROWS;
  readonly storeRows: readonly StoreRow[];
  readonly store: Store;
  readonly bindings: readonly Binding[];
  /** The baselines. */
  readonly others: readonly Program[];
  /** The commit whose server is the baseline. */
  readonly against: string | undefined;
  readonly roles: readonly Role[];
  readonly rounds: number;
  readonly quick: boolean;
  /** Where CPU profiles go. */
  readonly profileDir: string | undefined;
  /** Whether the figures are such as are kept. */
  readonly keeps: boolean;
}

/** Reads the command line; prints the usage and exits where it is wrong or asks for help. */
export function readOptions(args: readonly string[]): BenchOptions {
  try {
    return parse(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`);
    return process.exit(2);
  }
}

function parse(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string", default: "memory" },
      bindings: { type: "string" },
      against: { type: "string" },
      only: { type: "string" },
      beside: { type: "string" },
      side: { type: "string" },
      rounds: { type: "string" },
      profile: { type: "string" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    process.exit(0);
  }
  const rounds = Number(values.rounds ?? 1);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) throw new Error(`--rounds: ${values.rounds} is no number from 1 to 100`);
  const [store] = pick("--store", values.store, STORES) as [Store];
  const sideBySide = ROWS.map(({ name }) => name);
  const ofClient = CLIENT_ROWS.map(({ name }) => name);
  const ofStore = STORE_ROWS.map(({ name }) => name);
  const chosen = pick("--only", values.only, [...sideBySide, START.name, ...ofClient, ...ofStore]);
  const others = othersOf(values.beside);
  return {
    rows: ROWS.filter(({ name }) => chosen.includes(name)),
    start: chosen.includes(START.name),
    clientRows: CLIENT_ROWS.filter(
      ({ name, needs }) => chosen.includes(name) && (needs === undefined || others.some((one) => one.name === needs)),
    ),
    storeRows: STORE_ROWS.filter(({ name }) => chosen.includes(name)),
    store,
    bindings: pick("--bindings", values.bindings, BINDINGS),
    against: values.against,
    others,
    roles: pick("--side", values.side, ROLES),
    rounds,
    quick: values.quick,
    profileDir: values.profile,
    keeps: !values.quick && values.profile === undefined && values.against === undefined && values.side === undefined,
  };
}

/** Those named, else all that can be built; says which cannot. */
function othersOf(named: string | undefined): readonly Program[] {
  const names = pick(
    "--beside",
    named,
    OTHERS.map(({ name }) => name),
  );
  return OTHERS.filter(({ name, main }) => {
    if (!names.includes(name)) return false;
    const missing = main instanceof URL ? [] : lacks(main);
    if (missing.length === 0) return true;
    if (named !== undefined) throw new Error(`--beside: ${name} needs ${missing.join(" and ")}`);
    process.stderr.write(`without ${name}, which needs ${missing.join(" and ")}\n`);
    return false;
  });
}

function pick<T extends string>(option: string, value: string | undefined, all: readonly T[]): readonly T[] {
  if (value === undefined) return all;
  const wanted = value.split(",");
  const unknown = wanted.find((name) => !all.includes(name as T));
  if (unknown !== undefined) throw new Error(`${option}: there is no ${unknown}`);
  return all.filter((name) => wanted.includes(name));
}
