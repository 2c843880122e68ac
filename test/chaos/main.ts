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

const asked = options();
if (asked === undefined) {
  process.exitCode = 2;
} else {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const deadline = setTimeout(
    () => {
      say(`the run hangs: it should have ended long ago\nseed ${asked.seed}`);
      process.exit(1);
    },
    asked.minutes * 60_000 + REST_MS,
  );
  await using run = await runChaos(asked, say);
  const { lines, ok } = report(asked, run);
  for (const line of lines) say(line);
  clearTimeout(deadline);
  process.exitCode = ok ? 0 : 1;
}
