/** Foreign programs as processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Binding, ClientReport, Command, ForeignClient, ForeignServer } from "./foreign-kit.ts";
import { ROOT } from "../e2e/server-process.ts";
import { runToEnd } from "./run-command.ts";

const READY_MS = 120_000;
const CALL_MS = 120_000;
const STOP_MS = 10_000;
const KEPT = 4000;

/** A foreign server that serves. Disposing it closes its stdin, which ends it; one that stays is killed. */
export interface RunningForeign extends AsyncDisposable {
  /** URL of its card. */
  readonly card: string;
}

/** Starts a foreign server and waits until it serves. */
export async function startForeign({ name, command }: ForeignServer): Promise<RunningForeign> {
  const { file, args, env, cwd = ROOT } = command;
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const exited = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.stdin.end();
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(kill);
  };
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints = (complaints + text).slice(-KEPT)));
  // Closed early where the program is gone already.
  child.stdin.on("error", () => undefined);
  try {
    const { card } = await ready(child);
    return { card, [Symbol.asyncDispose]: stop };
  } catch (error) {
    child.kill("SIGKILL");
    await exited;
    throw new Error(`the server of ${name} did not start: ${complaints}`, { cause: error });
  }
}

function ready(child: ChildProcess): Promise<{ readonly card: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly card: string }>();
  const late = setTimeout(() => reject(new Error(`not ready after ${READY_MS} ms`)), READY_MS);
  if (child.stdout === null) throw new Error("no stdout");
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("ready ")) resolve(JSON.parse(line.slice("ready ".length)) as { card: string });
  });
  child.once("error", reject);
  child.once("exit", (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
  return promise.finally(() => clearTimeout(late));
}

/** Runs one operation of a foreign client. Throws where it tells nothing. */
export async function callForeign(
  { name, command }: ForeignClient,
  binding: Binding,
  card: string,
  operation: readonly string[],
): Promise<ClientReport> {
  const call: Command = { cwd: ROOT, ...command, args: [...command.args, binding, card, ...operation] };
  const { code, stdout, stderr } = await runToEnd(call, CALL_MS);
  const last = stdout.trim().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(last) as ClientReport;
  } catch (error) {
    throw new Error(`the client of ${name} ended with ${code ?? "a signal"} and said: ${last}\n${stderr.slice(-KEPT)}`, { cause: error });
  }
}
