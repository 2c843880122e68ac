/** The images: what their Dockerfiles say, and what is built by the same steps, run by a user who may write nothing. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { DockerfileParser } from "dockerfile-ast";
import { validate, ValidationSeverity } from "dockerfile-utils";
import lock from "../../package-lock.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { A2AClient } from "../../src/client/a2a-client.ts";
import { isTask } from "../../src/client/task-view.ts";
import { ROOT } from "../e2e/server-process.ts";
import { Snippets } from "../readme/snippets.ts";
import { buildImage, type Image } from "./image.ts";

const AGENT = join(ROOT, "deploy/example-agent");
const FOLDERS = [ROOT, AGENT];
const NOBODY = 65_532;

suite("the images", { timeout: 600_000 }, () => {
  let server: Image;
  let agent: Image;
  before(async () => {
    server = await buildImage(ROOT);
    agent = await buildImage(AGENT, { throughline: server });
  });
  after(() => {
    agent?.[Symbol.dispose]();
    server?.[Symbol.dispose]();
  });

  test("have Dockerfiles without a fault", () => {
    for (const folder of FOLDERS) {
      const text = readFileSync(join(folder, "Dockerfile"), "utf8");
      assert.deepEqual(validate(text, { deprecatedMaintainer: ValidationSeverity.ERROR }), []);
    }
  });

  test("let whoever builds them pin each base: all are arguments, with a tag", () => {
    for (const folder of FOLDERS) {
      const file = DockerfileParser.parse(readFileSync(join(folder, "Dockerfile"), "utf8"));
      const args = new Set(file.getInitialARGs().map((arg) => arg.getProperty()?.getName()));
      for (const from of file.getFROMs()) assert.ok(args.has(/^\$\{(\w+)\}$/.exec(from.getImage() ?? "")?.[1] ?? ""), String(from));
    }
  });

  test("are not run as root, and say what they are", () => {
    assert.equal(server.user, `${NOBODY}:${NOBODY}`);
    assert.equal(agent.user, server.user);
    assert.equal(server.labels["org.opencontainers.image.title"], packageJson.name);
    assert.equal(server.labels["org.opencontainers.image.licenses"], packageJson.license);
    const version = DockerfileParser.parse(readFileSync(join(ROOT, "Dockerfile"), "utf8"))
      .getARGs()
      .find((arg) => arg.getProperty()?.getName() === "VERSION");
    assert.equal(version?.getProperty()?.getValue(), packageJson.version);
  });

  test("hold what is run and nothing else: production packages, no sources, no tests", () => {
    const home = join(server.root, "node_modules/throughline");
    assert.deepEqual(globSync("*", { cwd: home }).toSorted(), ["LICENSE", "bin", "dist", "node_modules", "package.json", "proto"]);
    for (const name of Object.keys(packageJson.dependencies)) assert.ok(existsSync(join(home, "node_modules", name)), name);
    // Some of what only development names comes with production packages.
    const locked = Object.entries<object>(lock.packages).filter(([path]) => path !== "" && existsSync(join(home, path)));
    assert.deepEqual(
      locked.filter(([, facts]) => "dev" in facts),
      [],
    );
  });

  test("of the example: its module is one that the compiler takes", async () => {
    using snippets = new Snippets();
    const source = readFileSync(join(AGENT, "agent.ts"), "utf8").replace(
      '"mime"',
      JSON.stringify(join(ROOT, "node_modules/mime/dist/src/index.js")),
    );
    snippets.add("agent.ts", source);
    await snippets.check();
  });

  test("serve an agent that was built on top, from files that nobody may write to, and drain on SIGTERM", async () => {
    execFileSync("chmod", ["-R", "a-w", agent.root]);
    await using running = await Running.start(agent);
    const { ops, http } = running.ports;
    for (const path of ["/livez", "/startupz", "/readyz"]) assert.equal((await fetch(`http://127.0.0.1:${ops}${path}`)).status, 200);
    await using client = await A2AClient.connect(`http://127.0.0.1:${http}`);
    const task = await client.send("notes.txt\nphoto.jpg");
    assert.ok(isTask(task));
    assert.deepEqual(
      task.artifacts[0]?.parts.map(({ content }) => content.value),
      ["notes.txt: text/plain\n", "photo.jpg: image/jpeg\n"],
    );
    running.child.kill("SIGTERM");
    assert.deepEqual(await running.exited, [0, null]);
  });
});

/** An image that runs: its entrypoint and command with paths that lead into it, as the user who is nobody where we may choose. */
class Running implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly exited: Promise<readonly unknown[]>;
  #output = "";

  private constructor({ root, entrypoint, command, env, workdir }: Image) {
    const [node, ...args] = [...entrypoint, ...command];
    assert.equal(node, "/nodejs/bin/node");
    const inside = args.map((arg) => (arg.startsWith("/") ? join(root, arg) : arg));
    const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const own = { ...env, THROUGHLINE_HOST: "127.0.0.1", THROUGHLINE_DRAIN_DELAY_MS: "0" };
    const ports = { THROUGHLINE_GRPC_PORT: "0", THROUGHLINE_HTTP_PORT: "0", THROUGHLINE_OPS_PORT: "0" };
    this.child = spawn(process.execPath, inside, { cwd: join(root, workdir), env: { ...own, ...ports }, ...who });
    this.exited = once(this.child, "close");
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.on("data", (text: Buffer) => (this.#output += text.toString()));
  }

  /** Starts it; resolves when it says where it listens. */
  static async start(image: Image): Promise<Running> {
    const running = new Running(image);
    while (!running.#output.includes("Try it")) {
      assert.equal(running.child.exitCode, null, running.#output);
      await Promise.race([once(running.child.stdout ?? assert.fail(), "data"), running.exited]);
    }
    return running;
  }

  get ports(): { readonly http: number; readonly ops: number } {
    const port = (name: string): number => Number(new RegExp(`^ +${name} .*:(\\d+)`, "m").exec(this.#output)?.[1]);
    return { http: port("HTTP\\+JSON"), ops: port("operations") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}
