/** The processes of a run: servers, and those that make the load. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "./foreign/foreign-program.ts";
import { startForeign } from "./foreign/foreign-server.ts";
import { type Handler, link } from "./ipc.ts";
import type { Program } from "./programs.ts";
import type { Stats, Urls } from "./server-process.ts";

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const STDERR_KEPT = 4_000;

/** A server under test. Disposing ends its process. */
export interface ServerProcess extends AsyncDisposable {
  readonly urls: Urls;
  /** Memory and CPU now; with `gc` after a full garbage collection. */
  stats(gc: boolean): Promise<Stats>;
  /** The end of what it wrote to stderr. */
  complaints(): string;
}

/** How a server is started. */
export interface Launch {
  /** Gets its CPU profile when it ends. */
  readonly profileDir?: string | undefined;
  /** Where it keeps its tasks. Default: in itself. */
  readonly redisUrl?: string | undefined;
  /** What it is told before that. Default: nothing. */
  readonly args?: readonly string[];
}

/** Starts a server and waits until it listens. */
export async function startServer({ name, main }: Program, { profileDir, redisUrl, args = [] }: Launch = {}): Promise<ServerProcess> {
  if (!(main instanceof URL)) return startForeign(name, await build(main));
  const { child, complaints, stop } = start(main, name, profileDir, redisUrl === undefined ? args : [...args, redisUrl]);
  const call = link(child);
  try {
    return {
      urls: await readyLine(child),
      stats: (gc) => call<Stats>("stats", { gc }),
      complaints,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start: ${complaints()}`, { cause: error });
  }
}

/** A process that does what it is asked to. Disposing ends it. */
export interface LoadProcess extends AsyncDisposable {
  readonly call: <T>(name: string, params: object, timeoutMs: number) => Promise<T>;
}

/** Starts a load process; `handlers` answer what it asks. */
export function startLoad(
  file: "load.ts" | "client/load.ts" | "store/load.ts" | "store/appender.ts",
  handlers: Readonly<Record<string, Handler>>,
  profileDir?: string,
): LoadProcess {
  const { child, complaints, stop } = start(new URL(file, import.meta.url), file.replace("/", "-"), profileDir);
  const call = link(child, handlers);
  return {
    call: async <T>(name: string, params: object, timeoutMs: number) => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error(`no end after ${timeoutMs} ms`)), timeoutMs);
      try {
        return await Promise.race([call<T>(name, params), late.promise]);
      } catch (error) {
        throw new Error(`in ${file}: ${complaints()}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    [Symbol.asyncDispose]: stop,
  };
}

function start(
  main: URL,
  name: string,
  profileDir: string | undefined,
  args: readonly string[] = [],
): { child: ChildProcess; complaints: () => string; stop: () => Promise<void> } {
  const child = fork(fileURLToPath(main), args, {
    execArgv: ["--expose-gc", ...(profileDir === undefined ? [] : profiling(name, profileDir))],
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_KEPT);
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    // They exit when the channel closes; one that is too busy to notice is killed.
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  };
  return { child, complaints: () => tail, stop };
}

function profiling(name: string, dir: string): string[] {
  return ["--cpu-prof", `--cpu-prof-dir=${dir}`, `--cpu-prof-name=${name}-${process.hrtime.bigint()}.cpuprofile`];
}

async function readyLine(child: ChildProcess): Promise<Urls> {
  if (child.stdout === null) throw new Error("no stdout");
  const lines = createInterface({ input: child.stdout });
  const signal = AbortSignal.any([AbortSignal.timeout(READY_TIMEOUT_MS), exitSignal(child)]);
  for (;;) {
    const [line] = (await once(lines, "line", { signal })) as [string];
    if (line.startsWith("ready ")) return JSON.parse(line.slice("ready ".length)) as Urls;
  }
}

function exitSignal(child: ChildProcess): AbortSignal {
  const gone = new AbortController();
  child.once("exit", (code, signal) => gone.abort(new Error(`it exited with ${signal ?? code}`)));
  return gone.signal;
}
