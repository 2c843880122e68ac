/** Everything that a run runs on: the store, the replicas, and what the replicas say while they run. */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Given } from "./agent.ts";
import { Fleet, type StartReplica } from "./fleet.ts";
import { memoryReplicas, sharedMemory } from "./memory-replicas.ts";
import type { ChaosOptions } from "./options.ts";
import { LINK_FAULTS, REPLICA_FAULTS } from "./plan.ts";
import { processReplicas } from "./process-replica.ts";
import { clusterRedis, sentinelRedis, singleRedis } from "./redis-stores.ts";
import type { ChaosStore } from "./store.ts";

const REDIS = { single: singleRedis, sentinel: sentinelRedis, cluster: clusterRedis };
/** What can be done to replicas in this process. */
const MEMORY_FAULTS = ["kill", "drain", "block"];

/** The ground of a run. */
export class Bed implements AsyncDisposable {
  readonly store: ChaosStore;
  readonly fleet: Fleet;
  /** Kinds of faults that can be brought about here. */
  readonly kinds: readonly string[];
  /** Where logs and notes are kept. */
  readonly dir: string;

  constructor(store: ChaosStore, fleet: Fleet, kinds: readonly string[], dir: string) {
    this.store = store;
    this.fleet = fleet;
    this.kinds = kinds;
    this.dir = dir;
  }

  /** What turns were given. */
  given(): readonly Given[] {
    const file = givenFile(this.dir);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n");
    // A process may have been killed in the middle of a line.
    return lines.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line) as Given] : []));
  }

  /** How often the replicas' logs say this. */
  said(text: string): number {
    const files = readdirSync(this.dir).filter((name) => name.endsWith(".stderr"));
    return files.reduce((count, name) => count + readFileSync(join(this.dir, name), "utf8").split(text).length - 1, 0);
  }

  /** Keeps a text beside the logs; answers its path. */
  keep(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
  }
}

/** Starts the store and the replicas. */
export async function openBed(options: ChaosOptions): Promise<Bed> {
  const dir = mkdtempSync(join(tmpdir(), "throughline-chaos-"));
  await using started = new AsyncDisposableStack();
  const { store, start, kinds } = await openStore(options, dir);
  started.use(store);
  const fleet = started.use(new Fleet(options.replicas, start));
  await fleet.open();
  started.move();
  const wanted = options.faults.length === 0 ? kinds : kinds.filter((kind) => options.faults.includes(kind));
  return new Bed(store, fleet, wanted, dir);
}

interface Opened {
  readonly store: ChaosStore;
  readonly start: StartReplica;
  readonly kinds: readonly string[];
}

async function openStore({ store: kind, durability, windowEntries, redisReplicas, webhooks }: ChaosOptions, dir: string): Promise<Opened> {
  if (kind === "memory") {
    const store = sharedMemory();
    const given = (one: Given): void => appendFileSync(givenFile(dir), `${JSON.stringify(one)}\n`);
    const write = (facts: Readonly<Record<string, unknown>>, message: string): void => {
      const line = JSON.stringify({ ...facts, message }, (_, value: unknown) => (value instanceof Error ? String(value.stack) : value));
      appendFileSync(join(dir, "replicas.stderr"), `${line}\n`);
    };
    const log = { info: () => undefined, warn: write, error: write };
    return { store, start: memoryReplicas({ storage: store.storage, given, log, webhooks }), kinds: MEMORY_FAULTS };
  }
  const store = await REDIS[kind]({ lossy: durability === "local" });
  const start = processReplicas({ store, durability, dir, windowEntries, redisReplicas, webhooks });
  const links = store.port === undefined ? [] : LINK_FAULTS;
  return { store, start, kinds: [...REPLICA_FAULTS, ...links, ...Object.keys(store.faults)] };
}

function givenFile(dir: string): string {
  return join(dir, "given.jsonl");
}
