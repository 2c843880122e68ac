/** Commands that build or inspect something and end by themselves. */
import { spawn } from "node:child_process";
import type { Command } from "./foreign-kit.ts";

const KEPT = 20_000;

/** What a command wrote. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end, at most so long; whatever its exit code is. */
export async function runToEnd({ file, args, env, cwd }: Command, timeoutMs: number): Promise<Ran> {
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-KEPT)));
  child.once("error", reject);
  child.once("close", (code) => resolve(code));
  return { code: await promise, stdout, stderr };
}

/** Runs a command that is to succeed, and answers its stdout; throws with what it wrote otherwise. Default: at most 20 minutes. */
export async function runCommand(
  file: string,
  args: readonly string[],
  more: Omit<Command, "file" | "args"> & { readonly timeoutMs?: number } = {},
): Promise<string> {
  const { timeoutMs = 20 * 60_000, ...rest } = more;
  const { code, stdout, stderr } = await runToEnd({ file, args, ...rest }, timeoutMs);
  if (code !== 0) throw new Error(`${[file, ...args].join(" ")} ended with ${code ?? "a signal"}\n${stdout.slice(-KEPT)}${stderr}`);
  return stdout;
}
