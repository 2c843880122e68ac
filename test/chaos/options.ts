/** What a chaos run is asked for on its command line. */
import { parseArgs } from "node:util";

/** Stores that a run knows. */
const STORES = ["memory", "single", "sentinel", "cluster"] as const;
const DURABILITIES = ["local", "replicated", "fsync"] as const;
const CLIENTS = ["bare", "ours"] as const;

/** A run. */
export interface ChaosOptions {
  /** Whose clients send the tasks: `bare`, who know only the wire; `ours`, `throughline/client` on ways that are cut. */
  readonly clients: (typeof CLIENTS)[number];
  /** How long tasks are begun and faults brought about; with a `bound` the most that this may take. */
  readonly minutes: number;
  /** So many tasks and cuts of their callers' connections, however long that takes (`ours`). */
  readonly bound?: { readonly tasks: number; readonly cuts: number };
  readonly seed: string;
  readonly replicas: number;
  readonly store: (typeof STORES)[number];
  readonly durability: (typeof DURABILITIES)[number];
  /** Redis replicas that must have a write (durability replicated). */
  readonly redisReplicas: number;
  /** New tasks in a second, on the average. */
  readonly tasksPerSecond: number;
  /** Seconds between two faults, on the average. */
  readonly faultEverySeconds: number;
  /** Entries that are kept of each log; all where none is given. */
  readonly windowEntries?: number;
  /** Whether tasks have webhooks. */
  readonly webhooks: boolean;
  /** Kinds of faults to bring about; all that there are where none is named. */
  readonly faults: readonly string[];
}

export const USAGE = `usage: npm run chaos -- [--minutes 10] [--seed 1] [--replicas 4] [--store ${STORES.join("|")}]
  [--redis-durability ${DURABILITIES.join("|")}] [--tasks-per-second 3] [--fault-every 2.4] [--faults kill,freeze,…]
  [--redis-replicas 2] [--window-entries 50] (single store: what was trimmed is read from its append-only file)
  [--clients ours [--tasks 1000] [--cuts 300]] (throughline/client, bounded by numbers in the place of minutes)
  [--webhooks] (tasks have webhooks, whose receivers have all manners; with bare clients, where no entry is lost or trimmed)
`;

/** A run by numbers may take so much longer than its pace says. */
const SLACK = 5;

/** Reads the command line. Throws where it is wrong. */
export function readOptions(args: readonly string[]): ChaosOptions {
  const text = { type: "string" } as const;
  const names = [
    "minutes",
    "seed",
    "replicas",
    "store",
    "redis-durability",
    "tasks-per-second",
    "fault-every",
    "faults",
    "window-entries",
    "redis-replicas",
    "clients",
    "tasks",
    "cuts",
  ] as const;
  const options = { ...Object.fromEntries(names.map((name) => [name, text])), webhooks: { type: "boolean" } as const };
  const { values } = parseArgs({ args: [...args], options }) as {
    values: Partial<Record<(typeof names)[number], string>> & { readonly webhooks?: boolean };
  };
  const store = oneOf("store", STORES, values.store ?? "single");
  const usual = store === "sentinel" || store === "cluster" ? "replicated" : "local";
  const window = values["window-entries"];
  if (window !== undefined && store !== "single") throw new TypeError("--window-entries is for --store single");
  const durability = oneOf("redis-durability", DURABILITIES, values["redis-durability"] ?? usual);
  const tasksPerSecond = positive("tasks-per-second", values["tasks-per-second"] ?? "3");
  const faultEverySeconds = positive("fault-every", values["fault-every"] ?? "2.4");
  const clients = oneOf("clients", CLIENTS, values.clients ?? "bare");
  const bound = { tasks: positive("tasks", values.tasks ?? "1000"), cuts: positive("cuts", values.cuts ?? "300") };
  if (clients === "ours" && (window !== undefined || (store !== "single" && store !== "memory" && durability === "local")))
    throw new TypeError("--clients ours is for stores that keep every entry");
  const webhooks = values.webhooks === true;
  const loses = store !== "single" && store !== "memory" && durability === "local";
  if (webhooks && (clients === "ours" || window !== undefined || loses))
    throw new TypeError("--webhooks is for bare clients and stores that keep every entry");
  if (clients === "ours" ? values.minutes !== undefined : (values.tasks ?? values.cuts) !== undefined)
    throw new TypeError("--minutes bounds a run of bare clients, --tasks and --cuts one of ours");
  const paceMinutes = Math.max(bound.tasks / tasksPerSecond, bound.cuts * faultEverySeconds) / 60;
  return {
    ...(window === undefined ? {} : { windowEntries: positive("window-entries", window) }),
    clients,
    webhooks,
    ...(clients === "ours" ? { bound, minutes: paceMinutes * SLACK } : { minutes: positive("minutes", values.minutes ?? "10") }),
    seed: values.seed ?? "1",
    replicas: positive("replicas", values.replicas ?? "4"),
    store,
    durability,
    // As many as there are: one that has not heard of a write may be the one that is promoted.
    redisReplicas: positive("redis-replicas", values["redis-replicas"] ?? (store === "sentinel" ? "2" : "1")),
    tasksPerSecond,
    faultEverySeconds,
    faults: values.faults?.split(",") ?? [],
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new TypeError(`--${name} must be a number above 0, not ${text}`);
  return value;
}

function oneOf<T extends string>(name: string, known: readonly T[], text: string): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new TypeError(`--${name} must be one of ${known.join(", ")}, not ${text}`);
  return found;
}
