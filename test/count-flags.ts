/** Flags of a command of this repository that are numbers above 0. */
import { parseArgs } from "node:util";

/**
 * Reads the flags of this process, each with its default. Where one is wrong it says so with the `usage` and ends the process with exit code 2,
 * for `--help` with 0.
 */
export function countFlags<Name extends string>(defaults: Readonly<Record<Name, number>>, usage: string): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
    const { values } = parseArgs({ options: { ...options, help: { type: "boolean" } as const } });
    if (values.help === true) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const given: Readonly<Record<string, unknown>> = values;
    return Object.fromEntries(names.map((name) => [name, count(name, given[name] ?? defaults[name])])) as Record<Name, number>;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return process.exit(2);
  }
}

function count(name: string, value: unknown): number {
  const number = Number(value);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new TypeError(`--${name}: ${String(value)} is no number above 0`);
}
