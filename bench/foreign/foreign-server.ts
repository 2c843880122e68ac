/** A foreign server as a process: it speaks in lines, `ready {…}` once and `stats {…}` for each line that it is written. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Command } from "../../test/interop/foreign-kit.ts";
import type { ServerProcess } from "../processes.ts";
import type { Stats, Urls } from "../server-process.ts";

const READY_MS = 60_000;
const STATS_MS = 60_000;
const STOP_MS = 5_000;
const STDERR_KEPT = 4_000;

/** Starts it and waits until it listens. */
export async function startForeign(name: string, { file, args, env }: Command): Promise<ServerProcess> {
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const gone = new AbortController();
  const exited = once(child, "exit");
  exited.then(
    ([code, signal]: unknown[]) => gone.abort(new Error(`it ended with ${String(signal ?? code)}`)),
    (error: unknown) => gone.abort(error),
  );
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_KEPT);
  });
  // Closed early where the program is gone already.
  child.stdin.on("error", () => undefined);
  const lines = createInterface({ input: child.stdout });
  const next = async <T>(word: string, ms: number): Promise<T> => {
    const signal = AbortSignal.any([AbortSignal.timeout(ms), gone.signal]);
    for (;;) {
      const [line] = (await once(lines, "line", { signal })) as [string];
      if (line.startsWith(`${word} `)) return JSON.parse(line.slice(word.length + 1)) as T;
    }
  };
  const stop = async (): Promise<void> => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited.catch(() => undefined);
    clearTimeout(timer);
  };
  try {
    const urls = await next<Urls>("ready", READY_MS);
    return {
      urls,
      stats: (gc) => {
        const answer = next<Stats>("stats", STATS_MS);
        child.stdin.write(gc ? "gc\n" : "now\n");
        return answer;
      },
      complaints: () => tail,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start: ${tail}`, { cause: error });
  }
}
