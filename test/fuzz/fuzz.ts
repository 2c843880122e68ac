/** Runs a target: so many inputs or so long, each drawn from the seed and its number. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Random } from "./random.ts";
import type { Target } from "./target.ts";

/** What one input, or one look at good callers, may take. */
const HANG_MS = 30_000;
/** Good callers are looked after once in so many inputs. */
const CHECK_EVERY = 50;
/** Memory is measured from here on: what is loaded lazily is loaded by then. */
const WARM_UP = 200;
/** What was refused is let go of by then. */
const SETTLE_MS = 4000;
/** More than this that is still in use at the end is a leak. */
const GROWTH_BYTES = 48 * 1024 * 1024;

/** How long a target is fuzzed. */
export interface FuzzOptions {
  readonly seed: number;
  /** Number of the first input. */
  readonly from: number;
  readonly inputs: number;
  readonly minutes: number;
}

/** What came of it. */
export interface FuzzResult {
  readonly inputs: number;
  readonly seconds: number;
  readonly grownBytes: number;
}

/** Fuzzes a target. Rejects at the first fault, with the number of its input. */
export async function fuzz(target: Target, { seed, from, inputs, minutes }: FuzzOptions): Promise<FuzzResult> {
  // One for each step: a race that is lost again and again would be remembered by a promise that lasts.
  let stray = Promise.withResolvers<never>();
  let strayed: Error | undefined;
  const onStray = (error: unknown): void => {
    strayed ??= new Error("nobody took an error", { cause: error });
    stray.reject(strayed);
  };
  const step = async (what: string, promise: Promise<void>): Promise<void> => {
    if (strayed !== undefined) throw strayed;
    stray = Promise.withResolvers<never>();
    stray.promise.catch(() => undefined);
    await Promise.race([within(what, promise), stray.promise]);
  };
  process.on("unhandledRejection", onStray).on("uncaughtException", onStray);
  const begun = performance.now();
  const end = begun + minutes * 60_000;
  let at = from;
  let grownBytes = 0;
  let warm = usedBytes();
  try {
    await using open = await target.open();
    for (; at < from + inputs && performance.now() < end; at += 1) {
      await step(`input ${at}`, open.input(new Random(Math.imul(seed, 0x9e3779b1) + at)));
      if ((at + 1) % CHECK_EVERY === 0) await step("the check of good callers", open.check());
      if (at - from === WARM_UP) warm = usedBytes();
    }
    await step("the check of good callers", open.check());
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    if (strayed !== undefined) throw strayed;
    grownBytes = usedBytes() - warm;
  } catch (error) {
    throw new Error(`${target.name}: input ${at} of seed ${seed} (--target ${target.name} --seed ${seed} --from ${at} --inputs 1)`, {
      cause: error,
    });
  } finally {
    process.off("unhandledRejection", onStray).off("uncaughtException", onStray);
  }
  if (grownBytes > GROWTH_BYTES)
    throw new Error(`${target.name}: the process grew by ${Math.round(grownBytes / 2 ** 20)} MiB in ${at - from} inputs of seed ${seed}`);
  return { inputs: at - from, seconds: (performance.now() - begun) / 1000, grownBytes };
}

async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} hangs`)), HANG_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What is in use once all else was collected. */
function usedBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
