/** What all server processes have in common: the ready line, and answers about memory and CPU. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Binding } from "./drivers/driver.ts";
import { link } from "./ipc.ts";

/** Where a server listens, by the bindings that it speaks: `host:port` of gRPC, URLs of the others. */
export type Urls = Readonly<Partial<Record<Binding, string>>>;

/** Use of memory in bytes, and of CPU since the process began in microseconds. */
export interface Stats {
  readonly rss: number;
  /** Not every language tells. */
  readonly heapUsed?: number | undefined;
  readonly cpu: number;
}

/** Says on one line where the server listens, then serves statistics until the parent goes. */
export function ready(urls: Urls): void {
  link(process, { stats: ({ gc }: { gc: boolean }) => stats(gc) });
  process.once("disconnect", () => process.exit(0));
  process.stdout.write(`ready ${JSON.stringify(urls)}\n`);
}

async function stats(gc: boolean): Promise<Stats> {
  if (gc) {
    if (globalThis.gc === undefined) throw new Error("run with --expose-gc");
    // Twice with a pause: finalizers of the first collection release what the second one frees.
    for (let round = 0; round < 2; round++) {
      globalThis.gc();
      await sleep(100);
    }
  }
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { rss, heapUsed, cpu: user + system };
}
