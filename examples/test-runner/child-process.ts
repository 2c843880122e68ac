/** A shell command as a tree of processes that can be ended as a whole (POSIX). */
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** How a command ended: by itself with a code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** From its start to its exit, however late its output is read. */
  readonly durationMs: number;
}

/** A command that runs. Disposing of it ends its tree and waits until it has gone. */
export interface RunningCommand extends AsyncDisposable {
  /**
   * What the command writes, stdout and stderr in the order of writing: both are one pipe. The pipe is read only as fast as
   * this is (64 kB wait in memory); a command that is ahead of its reader is held by the kernel.
   */
  readonly output: AsyncIterable<Uint8Array>;
  /** Settles when the shell has exited; rejects when it could not be started. */
  readonly exited: Promise<Exit>;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Ends the tree when it aborts. */
  readonly signal: AbortSignal;
  /** From SIGTERM to SIGKILL. Default 2,000: a test runner wants a moment to remove what it made. */
  readonly killAfterMs?: number;
  /** How long a pipe that outlives the command stays open without a byte. Default 1,000. */
  readonly lingerMs?: number;
}

const pollMs = 20;
/** How long a killed group may take to vanish before it is left to the kernel. */
const vanishMs = 1_000;

const groups = new Set<number>();
// a group of its own does not die with this process
process.on("exit", () => {
  for (const group of groups) signalGroup(group, "SIGKILL");
});

/** Variables that steer this process and would steer the child's tools, or that are none of its business. */
const leaking =
  /^(NODE_TEST.*|NODE_OPTIONS|NODE_V8_COVERAGE|NODE_CHANNEL_.*|NODE_UNIQUE_ID|FORCE_COLOR|npm_.*|INIT_CWD|GIT_.*|THROUGHLINE_.*)$/;

/** This process's environment for a command in `directory`: cleaned, this Node and the directory's own tools first in PATH. */
export function commandEnv(directory: string, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !leaking.test(name)));
  const path = [dirname(process.execPath), join(directory, "node_modules", ".bin"), env["PATH"] ?? "/usr/bin:/bin"];
  return { ...kept, PATH: path.join(delimiter) };
}

/**
 * Starts `sh -c script` in a process group of its own. When the shell exits, what it left behind in the group is ended too.
 * A process that moved to another group is out of reach; it cannot keep `output` open either.
 */
export function startCommand(script: string, options: CommandOptions): RunningCommand {
  const { cwd, env, signal, killAfterMs = 2_000, lingerMs = 1_000 } = options;
  const began = performance.now();
  const child = spawn("/bin/sh", ["-c", `exec 2>&1\n${script}`], { cwd, env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const group = child.pid;
  if (group !== undefined) groups.add(group);

  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => (ending ??= group === undefined ? Promise.resolve() : endGroup(group, killAfterMs));
  const onAbort = (): void => void end();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, killedBy) => resolve({ code, signal: killedBy, durationMs: Math.round(performance.now() - began) }));
  });
  let taken = 0;
  /** A process that left the group may hold the pipe for ever: once it is quiet and read empty, it is closed. */
  const closeWhenQuiet = async (): Promise<void> => {
    await end();
    for (let seen = -1; !child.stdout.readableEnded && !child.stdout.destroyed; seen = taken) {
      await sleep(lingerMs, undefined, { ref: false });
      if (child.stdout.readableLength === 0 && taken === seen) child.stdout.destroy();
    }
  };
  exited.then(closeWhenQuiet, () => undefined);

  async function* output(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of child.stdout as AsyncIterable<Uint8Array>) {
        taken += bytes.length;
        yield bytes;
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
    }
  }

  return {
    output: output(),
    exited,
    async [Symbol.asyncDispose]() {
      signal.removeEventListener("abort", onAbort);
      await end();
      await exited.catch(() => undefined);
      child.stdout.destroy();
    },
  };
}

/** SIGTERM, and SIGKILL to what is left after `killAfterMs`. */
async function endGroup(group: number, killAfterMs: number): Promise<void> {
  signalGroup(group, "SIGTERM");
  if (!(await vanishes(group, killAfterMs))) {
    signalGroup(group, "SIGKILL");
    await vanishes(group, vanishMs);
  }
  groups.delete(group);
}

async function vanishes(group: number, withinMs: number): Promise<boolean> {
  for (const until = performance.now() + withinMs; await groupRuns(group); await sleep(pollMs)) {
    if (performance.now() >= until) return false;
  }
  return true;
}

/** Answers whether there is such a group. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Whether a process of the group still runs. A dead one that nobody collects does not count: PID 1 of a container often is
 * no init. Without a /proc the kernel's answer has to do.
 */
async function groupRuns(group: number): Promise<boolean> {
  if (!signalGroup(group, 0)) return false;
  const names = await readdir("/proc").catch((): string[] => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  if (pids.length === 0) return true;
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")));
  return stats.some((stat) => {
    // pid (name) state parent group …, and the name may hold anything
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(itsGroup) === group && state !== "Z" && state !== "X";
  });
}
