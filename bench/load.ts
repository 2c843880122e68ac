/** The load process: runs a row against the server it is told, and asks its parent for that server's statistics. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Binding, Driver } from "./drivers/driver.ts";
import { openDriver } from "./drivers/open.ts";
import { link } from "./ipc.ts";
import { ROWS } from "./rows/index.ts";
import type { Measured, Sample } from "./rows/row.ts";
import type { Stats, Urls } from "./server-process.ts";

/** What the parent asks for. */
export interface Order {
  readonly row: string;
  readonly binding: Binding;
  /** Of each replica. */
  readonly urls: readonly Urls[];
  readonly quick: boolean;
}

const call = link(process, { run });
process.once("disconnect", () => process.exit(0));

async function run({ row, binding, urls, quick }: Order): Promise<Readonly<Record<string, Sample>>> {
  const found = ROWS.find(({ name }) => name === row);
  if (found === undefined) throw new Error(`no row ${row}`);
  const drivers: Driver[] = [];
  globalThis.gc?.();
  try {
    return await found.run({
      binding,
      quick,
      open: (connections, replica = 0) => {
        const driver = openDriver(binding, urls[replica % urls.length] as Urls, connections);
        drivers.push(driver);
        return driver;
      },
      stats,
      measure,
    });
  } finally {
    for (const driver of drivers) driver.close();
    // The server is to notice before anything else is measured.
    await sleep(100);
  }
}

const stats = (gc: boolean): Promise<Stats> => call<Stats>("stats", { gc });

async function measure<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const before = await stats(false);
  const ownBefore = process.cpuUsage();
  const begun = performance.now();
  const result = await work();
  const seconds = (performance.now() - begun) / 1_000;
  const own = process.cpuUsage(ownBefore);
  const after = await stats(false);
  return { result, seconds, serverCpu: after.cpu - before.cpu, loadCpu: own.user + own.system };
}
