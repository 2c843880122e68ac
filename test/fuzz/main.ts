/**
 * `npm run fuzz [-- --minutes 10 --target NAME --seed S --from N --inputs N]`: each target for so long, one after the other. Ends with a line
 * for each; exit code 1 at the first fault, with what repeats it.
 */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { TARGETS } from "./targets/index.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    target: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    from: { type: "string", default: "0" },
    inputs: { type: "string", default: "Infinity" },
  },
});
const chosen = TARGETS.filter(({ name }) => values.target === undefined || name === values.target);
if (chosen.length === 0) {
  process.stderr.write(`there is no target ${values.target}; there are ${TARGETS.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}
const [minutes, seed, from, inputs] = [values.minutes, values.seed, values.from, values.inputs].map(Number) as [
  number,
  number,
  number,
  number,
];
for (const target of chosen) {
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
