/**
 * `npm run fuzz [-- --minutes 10 --target NAME --seed S --from N --inputs N]`: each target for so long, one after the other. Ends with a line
 * for each; exit code 1 at the first fault, with what repeats it.
 */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import type { Target } from "./target.ts";
import { TARGETS } from "./targets/index.ts";

const NAMES = TARGETS.map(({ name }) => name).join(", ");
const USAGE = `usage: npm run fuzz [-- --minutes 10 --target NAME --seed S --from N --inputs N]; targets: ${NAMES}\n`;

const { targets, minutes, seed, from, inputs } = readFlags();

function readFlags(): { readonly targets: readonly Target[] } & Readonly<Record<"minutes" | "seed" | "from" | "inputs", number>> {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "10" },
        target: { type: "string" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        from: { type: "string", default: "0" },
        inputs: { type: "string", default: "Infinity" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const named = TARGETS.filter(({ name }) => values.target === undefined || name === values.target);
    if (named.length === 0) throw new TypeError(`there is no target ${values.target}`);
    const numbers = {
      minutes: number(values.minutes),
      seed: number(values.seed),
      from: number(values.from),
      inputs: number(values.inputs),
    };
    return { targets: named, ...numbers };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}`);
    return process.exit(2);
  }
}

function number(text: string): number {
  const value = Number(text);
  if (Number.isNaN(value)) throw new TypeError(`${text} is no number`);
  return value;
}

for (const target of targets) {
  try {
    const result = await fuzz(target, { seed, from, inputs, minutes });
    const { seconds, grownBytes } = result;
    process.stdout.write(
      `ok ${target.name}: ${result.inputs} inputs in ${Math.round(seconds)} s, seed ${seed}, ${Math.round(grownBytes / 2 ** 20)} MiB\n`,
    );
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}
process.exit(0);
