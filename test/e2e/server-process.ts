/** The command line as a process of its own, run as an operator would run it. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** Ports and waits that suit a test: nothing is fixed, nothing is waited for. */
export const QUICK: Readonly<Record<string, string>> = {
  THROUGHLINE_GRPC_PORT: "0",
  THROUGHLINE_HTTP_PORT: "0",
  THROUGHLINE_OPS_PORT: "0",
  THROUGHLINE_DRAIN_DELAY_MS: "0",
  THROUGHLINE_STREAM_GRACE_MS: "0",
  THROUGHLINE_DRAIN_MS: "0",
};

const MAIN = "src/cli/main.ts";

/** What the command line calls itself in lines to copy when it is run as here. */
export const COMMAND: string = `node ${MAIN}`;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process and what it has written so far. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout = "";
  stderr = "";
  readonly #waiting = new Set<() => void>();

  /** `input`: what it reads. Default: nothing. */
  constructor(args: readonly string[], env: Readonly<Record<string, string | undefined>>, input?: string | Uint8Array) {
    // What steers this test's own process would steer the other one too.
    const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|NODE_OPTIONS|NODE_V8|THROUGHLINE_|npm_)/.test(name));
    this.child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...Object.fromEntries(kept), ...env },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    // One that does not read all has its reasons.
    this.child.stdin?.on("error", () => undefined).end(input);
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    this.child.once("close", (code, signal) => resolve({ code, signal }));
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#look();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#look();
    });
    void promise.then(() => this.#look());
  }

  /** Resolves when what was written satisfies `seen`. Rejects when the process has ended without it. */
  async until(seen: (process: this) => boolean): Promise<void> {
    while (!seen(this)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        await this.exited;
        if (seen(this)) return;
        throw new Error(`the process has ended\n${this.stdout}${this.stderr}`);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await promise;
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends the process; its agent's own children go with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGINT");
    const kill = setTimeout(() => this.signal("SIGKILL"), 10_000);
    await this.exited;
    clearTimeout(kill);
  }

  #look(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

/** A server that listens. */
export interface ServerProcess extends AsyncDisposable {
  readonly process: CliProcess;
  readonly ports: { readonly grpc: number; readonly http: number; readonly ops: number };
}

/** `throughline` with these arguments, from the source. */
export function cli(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = QUICK,
  input?: string | Uint8Array,
): CliProcess {
  return new CliProcess([MAIN, ...args], env, input);
}

/** Starts `throughline serve …` and waits until it says where it listens. `main`: the command line of another version. */
export async function startServer(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = QUICK,
  main: string = MAIN,
): Promise<ServerProcess> {
  const server = new CliProcess([main, "serve", ...args], env);
  await server.until(({ stdout }) => stdout.includes("Try it"));
  const port = (name: string): number => Number(new RegExp(`^ +${name} .*:(\\d+)`, "m").exec(server.stdout)?.[1]);
  const ports = { grpc: port("gRPC"), http: port("HTTP\\+JSON"), ops: port("operations") };
  return { process: server, ports, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** What came of a process. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `throughline …` to its end. */
export async function runCli(
  args: readonly string[],
  env?: Readonly<Record<string, string | undefined>>,
  input?: string | Uint8Array,
): Promise<Ran> {
  const process = cli(args, env, input);
  const { code } = await process.exited;
  return { code, stdout: process.stdout, stderr: process.stderr };
}
