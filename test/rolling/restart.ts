/** A rolling restart of a service under load, and what its callers noticed. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GrpcCaller } from "../bindings/callers/grpc.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { type Called, PlainCalls } from "./plain-calls.ts";
import { said } from "./said.ts";
import { Readers, type Seen } from "./readers.ts";
import { Service, type ServiceOptions, type ServiceVersion } from "./service.ts";

/** What is restarted, and what goes on meanwhile. */
export interface RestartOptions extends ServiceOptions {
  readonly streams: number;
  readonly turns: number;
  /** By what each replica is replaced. Default: what it was. */
  readonly to?: ServiceVersion;
  /** Milliseconds between two ticks of a turn. */
  readonly tickMs: number;
}

/** What came of it. */
export interface Restarted {
  /** Milliseconds that each replica took to go and come back. */
  readonly took: readonly number[];
  readonly seen: Seen;
  readonly called: Called;
  /** Tasks that are not completed, or not whole, in the end. */
  readonly tasksLost: number;
  /** Streams that ended with another count of ticks than their task has. */
  readonly streamsShort: number;
}

/** Runs one; `say` is told of the steps. */
export async function rollingRestart(options: RestartOptions, say: (what: string) => void): Promise<Restarted> {
  const folder = temporaryFolder("rolling");
  const stop = join(folder, "stop");
  const ended = join(folder, "ended");
  writeFileSync(ended, "");
  try {
    await using service = await Service.open(options);
    say(`${options.replicas} replicas behind nginx`);
    const caller = new GrpcCaller(service.ports.grpc);
    using _caller = { [Symbol.dispose]: () => caller.close() };
    const tasks = await Promise.all(
      Array.from({ length: options.turns }, async () => {
        const { message } = await caller.unary("SendMessage", said(`until ${stop} ${options.tickMs}`, { returnImmediately: true }));
        return (message["task"] as { id: string }).id;
      }),
    );
    say(`${tasks.length} turns run`);
    await using readers = await Readers.open(service.ports, tasks, options.streams);
    say(`${options.streams} streams are open`);
    const calls = new PlainCalls(service.ports, tasks, ended);
    const took = await service.roll(options.to);
    say("every replica was replaced");
    const called = await calls.stop();
    writeFileSync(stop, "");
    const counts = await readers.ended();
    const whole = await Promise.all(tasks.map((id) => ticksOf(caller, id)));
    return {
      took,
      seen: readers.seen,
      called,
      tasksLost: whole.filter((ticks) => ticks === undefined).length,
      streamsShort: counts.filter((count, index) => count !== whole[taskOf(index, options)]).length,
    };
  } finally {
    rmSync(stop, { force: true });
    removeFolder(folder);
  }
}

/** Which task the stream of this number reads. */
function taskOf(index: number, { turns }: RestartOptions): number {
  return index % turns;
}

/** How many ticks a task has; undefined where it is not completed, or a tick is missing or there twice. */
async function ticksOf(caller: GrpcCaller, id: string): Promise<number | undefined> {
  const { message } = await caller.unary("GetTask", { id });
  const { status, artifacts } = message as unknown as { status: { state: string }; artifacts: { parts: { text: string }[] }[] };
  const ticks = artifacts[0]?.parts.map(({ text }) => Number(text)) ?? [];
  return status.state === "TASK_STATE_COMPLETED" && ticks.every((tick, index) => tick === index) ? ticks.length : undefined;
}
