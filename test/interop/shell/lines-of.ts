/** The output of a program, line by line. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** What a program that has ended left behind. */
export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Its stdout as it comes, then how it ended. Who leaves before the end kills it. */
export async function* linesOf(file: string, args: readonly string[]): AsyncGenerator<string, Ended> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  child.once("error", reject);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  try {
    yield* createInterface({ input: child.stdout });
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
  return { code: child.exitCode, stderr };
}
