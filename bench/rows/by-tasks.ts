/** Whether a call costs more where there are many tasks. */
import type { Driver } from "../drivers/driver.ts";
import { median } from "../quantile.ts";
import { repeat } from "./repeat.ts";
import type { Metric, Row, Sample } from "./row.ts";
import { completeWith, FRAMES_AROUND } from "./task-stream.ts";
import { timed } from "./timed.ts";

const SIZES = [10, 1_000, 100_000] as const;
const QUICK_SIZES = [10, 100, 300] as const;
/** Tasks whose ids are kept, to be asked for. */
const KEPT = 1_000;
/** A side that will not have made its tasks by then does without that size. */
const FILL_MS = 60_000;
const STEP_MS = 5_000;
const TINY = "events=1 bytes=10 kind=artifact";
const CALLS = { send: "short send", get: "GetTask", list: "ListTasks, 50 of them" } as const;

type Kind = keyof typeof CALLS;

export const byTasks: Row = {
  name: "by-tasks",
  bindings: ["grpc"],
  fresh: true,
  keeps: true,
  metrics: (Object.keys(CALLS) as Kind[]).flatMap((kind) =>
    SIZES.map((size): Metric => ({
      key: `${kind}-${size}`,
      title: `${CALLS[kind]}, one at a time, with ${size.toLocaleString("en")} tasks there: median`,
      unit: "ms",
      aim: () => ({ kind: "ratio-at-most", value: 1 }),
    })),
  ),
  async run({ open, quick }) {
    const driver = open(4);
    const tasks = new Tasks(driver);
    const samples: Record<string, Sample> = {};
    for (const [index, size] of (quick ? QUICK_SIZES : SIZES).entries()) {
      if (!(await tasks.fill(size))) break;
      // Reads make no tasks, so they can be compiled before they are measured: a server runs for days. Sends are as cold as so many leave them.
      const ms = quick ? 50 : 2_000;
      await repeat({ workers: 8, ms }, async () => void (await driver.get(tasks.any())));
      await repeat({ workers: 8, ms }, async () => void (await driver.list()));
      // More of them would no longer be that many.
      const calls = Math.min(quick ? 10 : 100, size);
      const times: Record<Kind, number[]> = { get: [], list: [], send: [] };
      for (let call = 0; call < calls; call++) {
        times.get.push(await timed(() => driver.get(tasks.any())));
        times.list.push(await timed(() => driver.list()));
      }
      for (let call = 0; call < calls / 10; call++) times.send.push(await timed(() => tasks.make()));
      for (const kind of Object.keys(times) as Kind[]) samples[`${kind}-${SIZES[index]}`] = { value: median(times[kind]) };
    }
    return samples;
  },
};

/** Finished tasks of a server. */
class Tasks {
  readonly #driver: Driver;
  readonly #ids: string[] = [];
  #made = 0;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async make(): Promise<void> {
    const call = this.#driver.send(TINY);
    await completeWith(this.#driver, call, 1 + FRAMES_AROUND);
    this.#made += 1;
    if (this.#ids.length >= KEPT) return;
    const { payload } = this.#driver.event(await call.opened);
    if (payload.case === "task") this.#ids.push(payload.value.id);
  }

  any(): string {
    return this.#ids[Math.floor(Math.random() * this.#ids.length)] as string;
  }

  /** Until there are so many; answers false, before long, where that would take too long. */
  async fill(size: number): Promise<boolean> {
    const begun = performance.now();
    while (this.#made < size) {
      const before = this.#made;
      await repeat({ workers: 32, ms: STEP_MS, max: size - before }, () => this.make());
      const spent = performance.now() - begun;
      const left = ((size - this.#made) / (this.#made - before)) * STEP_MS;
      if (this.#made < size && spent + left > FILL_MS) return false;
    }
    return true;
  }
}
