/** Child processes and their folders that do not outlive the test process, however that ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const children = new Set<ChildProcess>();
const folders = new Set<string>();

/** From util-linux: the kernel ends the child with us, even where we are killed and run no handler. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));

/** Starts a process that ends with this one; its output is piped and must be read. */
export function spawnGuarded(command: string, args: readonly string[], cwd: string): ChildProcess {
  watch();
  const [program, ...rest] = SETPRIV === undefined ? [command, ...args] : [SETPRIV, "--pdeathsig", "KILL", command, ...args];
  const child = spawn(program, rest, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.once("error", () => children.delete(child));
  return child;
}

/** A new temporary folder, removed by {@link removeFolder} or else when this process exits. */
export function temporaryFolder(name: string): string {
  watch();
  const folder = mkdtempSync(join(tmpdir(), `throughline-${name}-`));
  folders.add(folder);
  return folder;
}

/** Removes a folder that {@link temporaryFolder} made. */
export function removeFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}

let watching = false;

function watch(): void {
  if (watching) return;
  watching = true;
  process.on("exit", endAll);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      endAll();
      // Our listener took the signal's default away; where nobody else listens, it must still end the process.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
}

function endAll(): void {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
