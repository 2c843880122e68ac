/** The command line. */
import { parseArgs } from "node:util";
import { CLIENT_ROWS } from "./client/index.ts";
import { type Binding, BINDINGS } from "./drivers/driver.ts";
import { ROWS } from "./rows/index.ts";
import { type Row, type Store, STORES } from "./rows/row.ts";
import { type Role, ROLES } from "./side.ts";
import { STORE_ROWS } from "./store/index.ts";
import type { StoreRow } from "./store/store-row.ts";

const USAGE = `npm run bench -- [options]

  --rows a,b       side by side, of: ${ROWS.map(({ name }) => name).join(", ")};
                   of the client, beside bare grpc-js, and of the front, beside its upstream: ${CLIENT_ROWS.map(({ name }) => name).join(", ")};
                   of the Redis store alone: ${STORE_ROWS.map(({ name }) => name).join(", ")}
  --store name     where ours keeps its tasks, of: ${STORES.join(", ")} (default memory); the rows of the Redis store run with redis, or by name
  --bindings a,b   of: ${BINDINGS.join(", ")}
  --against ref    the baseline is our server at that commit of this repository. Default: @a2a-js/sdk. On bindings that the baseline does
                   not speak it is our own gRPC, and the ratio is what the binding costs against it
  --only side      of: ${ROLES.join(", ")}
  --rounds n       measurements of each side, interleaved; the median counts (default 3, with --quick 1)
  --quick          the least that shows that every row works; its figures mean little
  --profile dir    writes a CPU profile of every process there; the figures are then those of profiled processes`;

export interface BenchOptions {
  readonly rows: readonly Row[];
  readonly clientRows: typeof CLIENT_ROWS;
  readonly storeRows: readonly StoreRow[];
  readonly store: Store;
  readonly bindings: readonly Binding[];
  /** The commit whose server is the baseline. */
  readonly against: string | undefined;
  readonly roles: readonly Role[];
  readonly rounds: number;
  readonly quick: boolean;
  /** Where CPU profiles go. */
  readonly profileDir: string | undefined;
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
      rows: { type: "string" },
      store: { type: "string", default: "memory" },
      bindings: { type: "string" },
      against: { type: "string" },
      only: { type: "string" },
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
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) throw new Error(`--rounds: ${values.rounds} is no number from 1 to 100`);
  const [store] = pick("--store", values.store, STORES) as [Store];
  const sideBySide = ROWS.map(({ name }) => name);
  const ofClient = CLIENT_ROWS.map(({ name }) => name);
  const ofStore = STORE_ROWS.map(({ name }) => name);
  const named = values.rows ?? [...sideBySide, ...(store === "redis" ? ofStore : ofClient)].join(",");
  const chosen = pick("--rows", named, [...sideBySide, ...ofClient, ...ofStore]);
  return {
    rows: ROWS.filter(({ name }) => chosen.includes(name)),
    clientRows: CLIENT_ROWS.filter(({ name }) => chosen.includes(name)),
    storeRows: STORE_ROWS.filter(({ name }) => chosen.includes(name)),
    store,
    bindings: pick("--bindings", values.bindings, BINDINGS),
    against: values.against,
    roles: pick("--only", values.only, ROLES),
    rounds,
    quick: values.quick,
    profileDir: values.profile,
  };
}

function pick<T extends string>(option: string, value: string | undefined, all: readonly T[]): readonly T[] {
  if (value === undefined) return all;
  const wanted = value.split(",");
  const unknown = wanted.find((name) => !all.includes(name as T));
  if (unknown !== undefined) throw new Error(`${option}: there is no ${unknown}`);
  return all.filter((name) => wanted.includes(name));
}
