/** An upstream as a process of its own, which a test kills and starts again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ROOT } from "../e2e/server-process.ts";

/** How it is started. */
export interface UpstreamCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The line on stdout that says it serves. */
  readonly ready: RegExp;
}

export class UpstreamProcess implements AsyncDisposable {
  readonly #command: UpstreamCommand;
  #child: ChildProcess | undefined;
  /** The line that said it serves. */
  line = "";

  private constructor(command: UpstreamCommand) {
    this.#command = command;
  }

  static async start(command: UpstreamCommand): Promise<UpstreamProcess> {
    const upstream = new UpstreamProcess(command);
    await upstream.again();
    return upstream;
  }

  /** Kills it, whatever it does. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  /** Starts it again; resolves when it serves. */
  async again(): Promise<void> {
    const { file, args, env, ready } = this.#command;
    const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|NODE_OPTIONS|NODE_V8|THROUGHLINE_)/.test(name));
    const child = spawn(file, args, { cwd: ROOT, env: { ...Object.fromEntries(kept), ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints = (complaints + text).slice(-4000)));
    child.stdin.on("error", () => undefined);
    for await (const line of createInterface({ input: child.stdout })) {
      if (!ready.test(line)) continue;
      this.line = line;
      child.stdout.resume();
      return;
    }
    throw new Error(`the upstream did not start: ${complaints}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
