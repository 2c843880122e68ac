/** The commands of the README, run in their order by a shell against the server that `npm start` starts. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { nextFrame, send, stateOf, taskOf } from "../bindings/bed.ts";
import { RestCaller } from "../bindings/callers/rest.ts";
import { QUICK, ROOT, startServer } from "../e2e/server-process.ts";
import { type Block, blocksOf, chapterOf, document, shapeOf } from "./markdown.ts";
import { cleanEnvironment, session } from "./session.ts";
import { Snippets } from "./snippets.ts";

// What needs a Redis is in replicas.test.ts.
const readme = document("README.md");
const blocks = blocksOf(readme.replace(chapterOf(readme, "Several replicas"), ""));
const DEFAULTS = { grpc: 50_051, http: 8080, ops: 9464 };

/** On a busy machine the agent may take longer than usual to say something: the transcript shows the usual. */
const STEADY = { THROUGHLINE_WORKING_AFTER_MS: "60000", THROUGHLINE_DRAIN_DELAY_MS: "0" };

/** `npm start`, which is a tree of processes. */
class Npm {
  readonly #child: ChildProcess;
  readonly started: Promise<string>;
  readonly #ended: Promise<unknown>;

  constructor(env: NodeJS.ProcessEnv) {
    this.#child = spawn("npm", ["start"], { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.started = this.#start();
  }

  async #start(): Promise<string> {
    let said = "";
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("Try it")) resolve(said);
      });
    }
    this.#child.once("error", reject);
    void this.#ended.then(() => reject(new Error(said)));
    return promise;
  }

  /** Signals npm alone, as a supervisor would; resolves when nothing of the tree is left that could write. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
  const free = await promise;
  if (free) await new Promise((closed) => server.close(closed));
  return free;
}

/** Starts the server as the README says; where its ports are taken, on others. */
async function start(): Promise<{ npm: Npm; said: string }> {
  const free = await Promise.all(Object.values(DEFAULTS).map(isFree));
  if (free.every(Boolean)) {
    const npm = new Npm(cleanEnvironment(STEADY));
    try {
      return { npm, said: await npm.started };
    } catch (error) {
      await npm.stop();
      if (!/is in use already/.test((error as Error).message)) throw error;
    }
  }
  const npm = new Npm(cleanEnvironment({ ...QUICK, ...STEADY }));
  return { npm, said: await npm.started };
}

/** The commands that call the server, each with the transcript that follows it. */
function calls(): { readonly command: Block; readonly transcript: Block }[] {
  return blocks.flatMap((command, index) => {
    const transcript = blocks[index + 1];
    return command.language === "sh" && transcript?.language === "text" ? [{ command, transcript }] : [];
  });
}

suite("the README", { timeout: 280_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "throughline-readme-"));
  let npm: Npm | undefined;
  let ports = { ...DEFAULTS };

  before(async () => {
    assert.equal(blocks[0]?.text, "npm ci && npm start\n");
    const started = await start();
    ({ npm } = started);
    const port = (name: string): number => Number(new RegExp(`^ +${name} .*:(\\d+)`, "m").exec(started.said)?.[1]);
    ports = { grpc: port("gRPC"), http: port("HTTP\\+JSON"), ops: port("operations") };
  });
  after(async () => {
    await npm?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test("shows what its commands print, copied into a shell one after the other", async () => {
    const shown = calls();
    assert.equal(shown.length, 5);
    const scripts = shown.map(({ command }) =>
      command.text
        .replaceAll(`127.0.0.1:${DEFAULTS.http}`, `127.0.0.1:${ports.http}`)
        .replaceAll(`127.0.0.1:${DEFAULTS.grpc}`, `127.0.0.1:${ports.grpc}`)
        .replaceAll("dropped.log", join(directory, "dropped.log")),
    );
    const printed = await session(scripts);
    for (const [index, { transcript }] of shown.entries()) assert.match(printed[index] ?? "", shapeOf(transcript.text));
  });

  test("has an agent that does what it says", async () => {
    using snippets = new Snippets();
    const code = blocks.find(({ language }) => language === "ts");
    const path = snippets.add("my-agent.ts", code?.text ?? "");
    assert.ok(blocks.some(({ text }) => text.includes("npx throughline serve my-agent.ts\n")));
    await using server = await startServer([path]);
    const caller = new RestCaller(server.ports.http);
    const { message: task } = await caller.unary("SendMessage", send("one two\nthree"));
    const done = taskOf({ message: task, headers: new Map() });
    assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
    const [counts] = done["artifacts"] as { parts: { text: string }[] }[];
    assert.deepEqual(
      counts?.parts.map(({ text }) => text),
      ["2 one two\n", "1 three\n"],
    );
    const asked = taskOf(await caller.unary("SendMessage", send(" ")));
    assert.equal(stateOf(asked), "TASK_STATE_INPUT_REQUIRED");
    const answer = caller.stream("SendStreamingMessage", send("one", { message: { taskId: asked.id } }));
    assert.equal(stateOf((await nextFrame(answer))["task"] as never), "TASK_STATE_WORKING");
    caller.close();
  });
});
