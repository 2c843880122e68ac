/** What the tests of the test-runner share: small projects in a temporary directory, and turns made by hand. */
import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Turn } from "../../src/core/agent.ts";
import { type AgentEvent, dataPart, type PartInit, textPart } from "../../src/core/events.ts";
import { type Message, MessageSchema, Role, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { testRunner, type TestRunnerOptions } from "../../examples/test-runner/agent.ts";

/** A user's message of a text or of data. */
export function messageOf(content: string | JsonValue): Message {
  const part = typeof content === "string" ? textPart(content) : dataPart(content);
  return create(MessageSchema, { messageId: "m1", role: Role.USER, parts: [part] });
}

/** A turn as the worker would make it. */
export function turnOf(message: Message, signal: AbortSignal = new AbortController().signal): Turn {
  const task = create(TaskSchema, { id: "t1", contextId: "c1", status: { state: TaskState.SUBMITTED }, history: [message] });
  return {
    taskId: "t1",
    contextId: "c1",
    task,
    message,
    history: [message],
    signal,
    attempt: 1,
    resumed: false,
    principal: "anonymous",
    owner: "anonymous",
    tenant: "",
    scopes: [],
    claims: {},
    metadata: undefined,
    acceptedOutputModes: [],
    extensions: [],
    headers: {},
    memo: undefined,
    memoOf: () => Promise.resolve(undefined),
    next: () => Promise.resolve(undefined),
  };
}

/** Runs the agent on the one project in `directory`. */
export function runIn(
  directory: string,
  content: string | JsonValue,
  signal?: AbortSignal,
  options: Partial<TestRunnerOptions> = {},
): AsyncIterable<AgentEvent> {
  const agent = testRunner({ projects: new Map([["fixture", directory]]), ...options });
  return agent.run(turnOf(messageOf(content), signal));
}

/** What a reader of all events has in the end. */
export class Reading {
  readonly statuses: { state: TaskState | undefined; text: string }[] = [];
  readonly chunks: { text: string; append: boolean; last: boolean }[] = [];
  /** In order: the state's name for a status, `log` and `summary` for the artifacts. */
  readonly order: string[] = [];
  summary: Record<string, JsonValue> | undefined;

  static async of(events: AsyncIterable<AgentEvent>): Promise<Reading> {
    const reading = new Reading();
    for await (const event of events) reading.add(event);
    return reading;
  }

  add(event: AgentEvent): void {
    if (event.case === "statusUpdate") {
      const { state, message } = event.value.status ?? {};
      this.statuses.push({ state, text: textOf(message?.parts?.[0]) });
      this.order.push(Object.entries(TaskState).find(([, value]) => value === state)?.[0] ?? "");
      return;
    }
    if (event.case !== "artifactUpdate") return;
    const { artifact, append = false, lastChunk = false } = event.value;
    const [part] = artifact?.parts ?? [];
    if (artifact?.artifactId === "test-log") {
      this.chunks.push({ text: textOf(part), append, last: lastChunk });
      this.order.push("log");
    } else if (part?.content?.case === "data") {
      this.summary = toJson(ValueSchema, create(ValueSchema, part.content.value)) as Record<string, JsonValue>;
      this.order.push("summary");
    }
  }

  get log(): string {
    return this.chunks.map(({ text }) => text).join("");
  }

  get final(): { state: TaskState | undefined; text: string } | undefined {
    return this.statuses.at(-1);
  }
}

function textOf(part: PartInit | undefined): string {
  return part?.content?.case === "text" ? part.content.value : "";
}

/** Not where a test lets the agent put its own temporary files. */
const base = tmpdir();

/** A temporary directory, removed with everything in it on disposal. */
export class Sandbox implements Disposable {
  readonly path: string = mkdtempSync(join(base, "throughline-test-"));

  /** A project whose test command is `script`, with the given files. Answers its directory. */
  project(script: string, files: Record<string, string> = {}): string {
    const directory = join(this.path, "project");
    this.write({ "package.json": JSON.stringify({ scripts: { test: script } }), ...files });
    return directory;
  }

  /** Writes files into the project. */
  write(files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.path, "project", name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }

  /** Commits the project as it is. Answers the commit. */
  commit(): string {
    const git = (...args: string[]): string => {
      const who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
      return execFileSync("git", [...who, ...args], { cwd: join(this.path, "project"), encoding: "utf8", stdio: "pipe" });
    };
    git("init", "--quiet");
    git("add", "--all");
    git("commit", "--quiet", "--message", "a state of the project");
    return git("rev-parse", "HEAD").trim();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A process that called in: its connection closes when it dies, whatever it dies of. */
export interface Caller {
  readonly pid: number;
  readonly gone: Promise<void>;
}

/** A socket on which the processes of a fixture call in by name. */
export class CallIn implements Disposable {
  readonly path: string;
  readonly #server: Server;
  readonly #callers = new Map<string, PromiseWithResolvers<Caller>>();

  constructor(sandbox: Sandbox) {
    this.path = join(sandbox.path, "call-in.sock");
    this.#server = createServer((socket) => {
      const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
      socket.on("error", () => undefined).setEncoding("utf8");
      socket.once("data", (line: string) => {
        const [name = "", pid] = line.trim().split(" ");
        this.#expect(name).resolve({ pid: Number(pid), gone });
      });
    });
    // a fixture that never calls in must not keep the test's process
    this.#server.listen(this.path).unref();
  }

  /** Source of a process that calls in as `name` and stays until it is killed. */
  script(name: string, more = ""): string {
    // What comes after it may end the process: only once the call is on its way.
    const call = `await new Promise((sent) => connect(${JSON.stringify(this.path)}).write(${JSON.stringify(`${name} `)} + process.pid + "\\n", sent));`;
    return `import { connect } from "node:net";\nimport { spawn } from "node:child_process";\n${call}\n${more}\n`;
  }

  caller(name: string): Promise<Caller> {
    return this.#expect(name).promise;
  }

  #expect(name: string): PromiseWithResolvers<Caller> {
    const known = this.#callers.get(name) ?? Promise.withResolvers<Caller>();
    this.#callers.set(name, known);
    return known;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

/** Whether a process runs no more; a dead one that its parent has not collected yet does not run. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch (error) {
    return ["ESRCH", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}
