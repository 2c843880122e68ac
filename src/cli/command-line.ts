/** How this program was called, for lines that call it again. */
import { basename, delimiter, dirname, relative } from "node:path";
import { shellWord } from "./shell-word.ts";

/** What a call of a program says of itself. */
export interface Called {
  /** The file that Node runs, as it was named. */
  readonly script: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/**
 * The words to call the program with, where it was called and in the way it was: `throughline`, `npx throughline`, `node src/cli/main.ts`. What
 * npm started is found by npx again, with the Node that the shell may not have.
 */
export function commandLine(
  { script, env, cwd }: Called = { script: process.argv[1] ?? "", env: process.env, cwd: process.cwd() },
): string {
  const byNpm = env["npm_execpath"] !== undefined;
  const npx = byNpm ? "npx " : "";
  const found = byNpm || (env["PATH"] ?? "").split(delimiter).includes(dirname(script));
  if (basename(script) === "throughline" && found) return `${npx}throughline`;
  return `${npx}node ${shellWord(relative((byNpm && env["INIT_CWD"]) || cwd, script))}`;
}
