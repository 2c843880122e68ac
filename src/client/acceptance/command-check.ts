/** A check by a command that reads the artifact (POSIX). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Check, Verdict } from "./check.ts";

/** How a command is run. */
export interface CommandCheckOptions {
  /** Default: the command itself. */
  readonly criterion?: string;
  /** After this time the command and its children are killed, and the check has not passed. Default 60 s. */
  readonly timeoutMs?: number;
}

/** What is kept of what a command writes: its end. */
const KEPT = 8192;

/**
 * Runs a command of the shell with the artifact's bytes as its standard input; it has passed where it ends with 0. What it writes to stdout and
 * stderr is its output.
 */
export function commandCheck(command: string, { criterion = command, timeoutMs = 60_000 }: CommandCheckOptions = {}): Check {
  return {
    criterion,
    by: command,
    judge: ({ bytes }, signal) => run(command, bytes, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])),
  };
}

async function run(command: string, input: Uint8Array, signal: AbortSignal): Promise<Verdict> {
  // A group of its own, so that all of it can be ended.
  const child = spawn("/bin/sh", ["-c", command], { detached: true, stdio: "pipe" });
  const output: Buffer[] = [];
  let length = 0;
  const take = (bytes: Buffer): void => {
    output.push(bytes);
    length += bytes.length;
    while (length - (output[0]?.length ?? 0) >= KEPT) length -= output.shift()?.length ?? 0;
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  // One that has seen enough does not read on.
  child.stdin.on("error", () => undefined).end(input);
  const end = (): void => {
    killGroup(child.pid);
    // What has left the group may hold them open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  // A group of its own does not end with this process.
  process.once("exit", end);
  child.once("exit", () => killGroup(child.pid));
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const [code, killedBy] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    const said = Buffer.concat(output).toString("utf8");
    if (code !== null) return { passed: code === 0, output: said };
    return { passed: false, output: `${said}\nended by ${killedBy}${signal.aborted ? ": it took too long" : ""}`.trimStart() };
  } finally {
    process.off("exit", end);
    signal.removeEventListener("abort", end);
    end();
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // There is nobody left in it.
  }
}
