/** What the documents do with several replicas on a Redis: every line run in its order, and held against what is shown. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { ROOT } from "../e2e/server-process.ts";
import { findRedisServer } from "../redis/find-redis.ts";
import { freePort } from "../redis/free-port.ts";
import { blocksOf, chapterOf, document, shapeOf } from "./markdown.ts";
import { cleanEnvironment, session } from "./session.ts";
import { Snippets } from "./snippets.ts";

/** The ports that the documents name, and those of this run. */
const PORTS = [6379, 50_051, 50_052, 8080, 8081, 9464, 9465];

/** A command in a terminal of its own. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #said = "";
  #interrupted = false;
  #look: () => void = () => undefined;

  constructor(command: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn("/bin/sh", ["-c", command], { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = new Promise((resolve) => this.#child.once("close", resolve));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#said += text;
        this.#look();
      });
    }
  }

  /** Resolves when it has said something. */
  async says(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#look = () => this.#said.includes(text) && resolve();
    void this.#ended.then(() => reject(new Error(this.#said)));
    this.#look();
    await promise;
  }

  /** Ctrl-C, once: a second one would hurry what the first began. Everything that runs here is told. */
  interrupt(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null && !this.#interrupted) process.kill(-pid, "SIGINT");
    this.#interrupted = true;
  }

  async close(): Promise<void> {
    this.interrupt();
    await this.#ended;
  }
}

suite("several replicas, as the documents show them", { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "throughline-replicas-"));
  const chapter = blocksOf(chapterOf(document("README.md"), "Several replicas"));
  const ports = new Map<number, number>();
  const terminals: Terminal[] = [];
  let taskId = "";
  let env: NodeJS.ProcessEnv = {};

  const here = (command: string): string =>
    [...ports]
      .reduce((text, [named, free]) => text.replaceAll(new RegExp(`\\b${named}\\b`, "g"), `${free}`), command)
      .replaceAll("redis-cli ", `redis-cli -p ${ports.get(6379)} `)
      .replaceAll("dropped.log", join(directory, "dropped.log"));

  before(async () => {
    for (const port of PORTS) ports.set(port, await freePort());
    const path = [dirname(findRedisServer()), process.env["PATH"] ?? ""].join(delimiter);
    const first = { GRPC: 50_051, HTTP: 8080, OPS: 9464 };
    const variables = Object.entries(first).map(([name, port]) => [`THROUGHLINE_${name}_PORT`, `${ports.get(port)}`]);
    env = cleanEnvironment({ PATH: path, ...(Object.fromEntries(variables) as Record<string, string>) });
    const [servers] = chapter;
    const lines = here(servers?.text ?? "")
      .trimEnd()
      .split("\n");
    assert.equal(lines.length, 3);
    for (const [index, line] of lines.entries()) {
      const terminal = new Terminal(line, env);
      terminals.push(terminal);
      await terminal.says(index === 0 ? "Ready to accept connections" : "Try it");
    }
  });
  after(async () => {
    for (const terminal of terminals.toReversed()) await terminal.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test("a list is worked through, though the replica that began it goes away", async () => {
    const [, command, transcript] = chapter;
    const [printed = ""] = await session([here(command?.text ?? "")], (sofar) => {
      // The second frame with a task begins the subscription; let it see the first replica at work.
      const [, , followed = ""] = sofar.split('{"task":');
      if (followed.split("\n").length > 3) terminals[1]?.interrupt();
    });
    assert.match(printed, shapeOf(transcript?.text ?? ""));
    taskId = /"id":"([^"]+)"/.exec(printed)?.[1] ?? "";
    const [, , followed = ""] = printed.split('{"task":');
    const numbers = [...followed.matchAll(/[0-9a-f]{64} {2}(\d+)\\n/g)].map(([, number]) => Number(number));
    assert.deepEqual(
      numbers,
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test("its log is in Redis as the page shows it", async () => {
    const [command, transcript] = blocksOf(chapterOf(document("docs/redis.md"), "Looking into a log"));
    const [printed = ""] = await session([`PATH='${env["PATH"]}'\nTASK='${taskId}'\n${here(command?.text ?? "")}`]);
    assert.match(printed, shapeOf(transcript?.text ?? ""));
  });

  test("the program of the page prints it", async () => {
    using snippets = new Snippets();
    const opening = blocksOf(chapterOf(document("docs/redis.md"), "Opening the store yourself"));
    const program = opening.find(({ language, text }) => language === "ts" && text.includes("process.argv"));
    const path = snippets.add("print-log.ts", program?.text ?? "");
    const url = `redis://127.0.0.1:${ports.get(6379)}`;
    const [printed = ""] = await session([`'${process.execPath}' '${path}' '${url}' 'List worker' '${taskId}'`]);
    assert.match(printed, shapeOf(opening.at(-1)?.text ?? ""));
  });
});
