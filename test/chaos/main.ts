/**
 * `npm run chaos -- --minutes M --seed S [--replicas R] [--store …]`: replicas on one store, tasks of many shapes, followers that come and
 * go, faults drawn from the seed. Ends with the figures and the line `lost 0 doubled 0 reordered 0 forgotten 0`; exit code 1 where a
 * promise was broken.
 */
import { type ChaosOptions, readOptions, USAGE } from "./options.ts";
import { report } from "./report.ts";
import { runChaos } from "./run.ts";

/** Beyond its minutes a run takes less than this to start, to settle and to be checked; what takes longer hangs. */
const REST_MS = 5 * 60_000;

function options(): ChaosOptions | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return undefined;
  }
}

async function main(): Promise<number> {
  const asked = options();
  if (asked === undefined) return 2;
  const begun = performance.now();
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const say = (line: string): void => print(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}`);
  const deadline = setTimeout(
    () => {
      print(`the run hangs: it should have ended long ago\nseed ${asked.seed}`);
      process.exit(1);
    },
    asked.minutes * 60_000 + REST_MS,
  );
  await using run = await runChaos(asked, say);
  const { lines, ok } = report(asked, run);
  for (const line of lines) print(line);
  clearTimeout(deadline);
  return ok ? 0 : 1;
}

// Not left to the event loop: sockets that were reset at a bad moment keep Node from ending by itself.
process.exit(await main());
