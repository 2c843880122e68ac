/** A real nginx in front of a server, set up as one that knows nothing of streams: it buffers, and it is not patient. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { installLine, installPackage, mayInstall } from "../apt.ts";
import { findProgram } from "../find-program.ts";
import { removeFolder, spawnGuarded, temporaryFolder } from "../redis/child-guard.ts";
import { freePort } from "../redis/free-port.ts";
import { until } from "../redis/until.ts";

/** Says where nginx is; `npm test` sets it. */
const NGINX = "NGINX";
const START_MS = 30_000;

/** Where nginx listens. */
interface NginxPorts {
  /** HTTP/1.1, for HTTP+JSON and JSON-RPC. */
  readonly http: number;
  /** HTTP/2 in clear text before the same, for Connect. */
  readonly http2: number;
  readonly grpc: number;
}

/** How it is set up. */
interface NginxOptions {
  /** The server's. */
  readonly ports: { readonly http: number; readonly grpc: number };
  /** How long the server may be silent before it is given up. */
  readonly readTimeoutMs: number;
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

/** One nginx, which may be stopped and started again on its ports. */
export class Nginx implements AsyncDisposable {
  readonly ports: NginxPorts;
  readonly #dir = temporaryFolder("nginx");
  #child: ChildProcess | undefined;
  #output = "";

  private constructor(ports: NginxPorts, { ports: behind, readTimeoutMs }: NginxOptions) {
    this.ports = ports;
    mkdirSync(join(this.#dir, "logs"));
    const http = `proxy_pass http://127.0.0.1:${behind.http};`;
    writeFileSync(
      join(this.#dir, "nginx.conf"),
      `daemon off; master_process off; pid ${this.#dir}/pid; error_log stderr warn;
events {}
http {
  access_log off; ${temporaryPaths(this.#dir)}
  proxy_read_timeout ${readTimeoutMs}ms; grpc_read_timeout ${readTimeoutMs}ms;
  server {
    listen 127.0.0.1:${ports.http};
    location / { ${http} }
    location /deaf/ { proxy_pass http://127.0.0.1:${behind.http}/; proxy_ignore_headers X-Accel-Buffering; }
  }
  server { listen 127.0.0.1:${ports.http2} http2; location / { ${http} } }
  server { listen 127.0.0.1:${ports.grpc} http2; location / { grpc_pass grpc://127.0.0.1:${behind.grpc}; } }
}
`,
    );
  }

  /** Starts one; resolves when it listens. Below `/deaf` it holds streams back whatever their server says of that. */
  static async open(options: NginxOptions): Promise<Nginx> {
    const nginx = new Nginx({ http: await freePort(), http2: await freePort(), grpc: await freePort() }, options);
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
      const open = await Promise.all(Object.values(this.ports).map(listens));
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
