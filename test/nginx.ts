/** A real nginx with any configuration, which may be stopped and started again. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { installLine, installPackage, mayInstall } from "./apt.ts";
import { findProgram } from "./find-program.ts";
import { removeFolder, spawnGuarded, temporaryFolder } from "./redis/child-guard.ts";
import { until } from "./redis/until.ts";

/** Says where nginx is; `npm test` sets it. */
const NGINX = "NGINX";
const START_MS = 30_000;

/** What nginx is to do. */
interface NginxSetup {
  /** What stands in its http block. */
  readonly http: string;
  /** The ports of 127.0.0.1 that it listens on then. */
  readonly ports: readonly number[];
  /** Connections at once, those to the servers behind it included. Default 512. */
  readonly connections?: number;
}

/**
 * Finds nginx and passes it on to child processes by the environment; where there is none, and we may install it, installs it first.
 * @throws Error of one line that says what to do.
 */
export function ensureNginx(): void {
  if (locateNginx() === undefined && mayInstall()) installPackage("nginx");
  const path = locateNginx();
  if (path === undefined) throw new Error(`The tests of proxies need nginx. Install it: ${installLine("nginx")}`);
  process.env[NGINX] = path;
}

function locateNginx(): string | undefined {
  const named = process.env[NGINX];
  return named !== undefined && named !== "" ? named : findProgram("nginx");
}

/** One nginx. */
export class Nginx implements AsyncDisposable {
  readonly #dir = temporaryFolder("nginx");
  readonly #ports: readonly number[];
  #child: ChildProcess | undefined;
  #output = "";

  private constructor({ http, ports, connections = 512 }: NginxSetup) {
    this.#ports = ports;
    mkdirSync(join(this.#dir, "logs"));
    writeFileSync(
      join(this.#dir, "nginx.conf"),
      `daemon off; master_process off; pid ${this.#dir}/pid; error_log stderr warn;
events { worker_connections ${connections}; }
http {
  access_log off; ${temporaryPaths(this.#dir)}
${http}
}
`,
    );
  }

  /** Starts one; resolves when it listens. */
  static async open(setup: NginxSetup): Promise<Nginx> {
    const nginx = new Nginx(setup);
    await nginx.start();
    return nginx;
  }

  /** Starts it, or starts it again. */
  async start(): Promise<void> {
    ensureNginx();
    const child = spawnGuarded(process.env[NGINX] as string, ["-p", this.#dir, "-c", join(this.#dir, "nginx.conf")], this.#dir);
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => (this.#output += text.toString()));
    await until("nginx listens", START_MS, async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${this.#output}`);
      const open = await Promise.all(this.#ports.map(listens));
      return open.every(Boolean);
    });
  }

  /** Ends it with all that goes through it. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    removeFolder(this.#dir);
  }
}

/** Where it puts what it holds back. */
function temporaryPaths(dir: string): string {
  return ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${join(dir, kind)};`).join(" ");
}

async function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
