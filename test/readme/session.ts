/** Commands of a document, run by a shell as a person would run them. */
import { spawn } from "node:child_process";
import { ROOT } from "../e2e/server-process.ts";

const BETWEEN = "---- the next block";

/** This process's environment without what steers this process. */
export function cleanEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|NODE_OPTIONS|NODE_V8|THROUGHLINE_|npm_)/.test(name));
  return { ...Object.fromEntries(kept), ...more };
}

/** What a shell prints for each of the scripts, run as one session. `heard` is told of all that was printed so far. */
export async function session(scripts: readonly string[], heard: (printed: string) => void = () => undefined): Promise<string[]> {
  const child = spawn("/bin/sh", ["-c", scripts.join(`\necho '${BETWEEN}'\n`)], {
    cwd: ROOT,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    heard(printed);
  });
  await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  return printed.split(`${BETWEEN}\n`);
}
